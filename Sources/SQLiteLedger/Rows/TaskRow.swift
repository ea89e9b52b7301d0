internal import GRDB
internal import JSON
internal import Ledger
internal import Records
internal import TransferModel

extension TransferTask {
  init(_ row: StoredRow) throws(UnreadableRow) {
    let kind: TaskKind = try row.choice(.kind)
    let data = try row.contentIfAny(.requestBody)
    let specification = try row.document(.specification) { document throws(RecordFault) in
      try TaskSpecification(document: document, kind: kind, body: data)
    }
    self.init(
      id: try row.id(.id), sessionID: try row.id(.session),
      taskIdentifier: Int(try row.integer(.identifier)), createdAt: try row.time(.created),
      specification: specification)
    lifecycle = TaskLifecycle(
      state: try row.choice(.state), suspendCount: Int(try row.integer(.suspendCount)))
    // Pruning sets a column of its own and does not rewrite the document.
    let isPruned = try row.integer(.isPruned) != 0
    let first = self
    if let restored = try row.documentIfAny(
      .outcome,
      { document throws(RecordFault) in
        var task = first
        try task.restore(document)
        return task
      })
    {
      self = restored
    }
    if isPruned { forgetBody() }
  }

  /// Checks that a row's columns, and the seals and versions of its documents, are intact. This costs a tenth of reading the documents. A
  /// document with a valid seal was written by this program or by another version of it.
  static func checkIntact(_ row: StoredRow) throws(UnreadableRow) {
    let (_, _): (TaskKind, TaskState) = (try row.choice(.kind), try row.choice(.state))
    for column in [StoredColumn.identifier, .suspendCount, .created, .isPruned] {
      _ = try row.integer(column)
    }
    for column in [SealedDocument.specification, .outcome] {
      guard let document = try row.contentIfAny(column), !document.starts(with: Document.start) else {
        continue
      }
      _ = try TransferTask(row)
      return
    }
  }
}

/// A task in its current state, with its body if the row stores that.
struct UpdatedTask {
  let task: TransferTask
  let smallBody: [UInt8]?

  /// Whether the row has counts of bytes. A completed row without them does not count in its group, because a download has replaced the task.
  fileprivate var countsInGroup: Bool { task.group != nil && task.downloadTask == nil }
}

/// A new task, with the tenant of its session. The tenant is unknown if the session has no row.
struct CreatedTask {
  let task: TransferTask
  let tenant: Tenant?

  /// The keyed hashes of the labels.
  func labelKeys(_ box: SecretBox) -> [[UInt8]] {
    guard let tenant, !task.labels.isEmpty else { return [] }
    return task.labels.map { box.names.name($0, of: tenant) }
  }
}

extension RowMapping<CreatedTask> {
  static let createdTask = RowMapping(
    .task,
    [
      Column(.id) { row, _ in .id(row.task.id) },
      Column(.session) { row, _ in .id(row.task.sessionID) },
      Column(.identifier) { row, _ in .integer(row.task.taskIdentifier) },
      Column(.kind) { row, _ in .string(row.task.kind.rawValue) },
      Column(.state) { row, _ in .string(row.task.state.rawValue) },
      Column(.suspendCount) { row, _ in .integer(row.task.lifecycle.suspendCount) },
      Column(.created) { row, _ in .time(row.task.createdAt) },
      Column(.specification) { row, box in box.sealed(row.task.specificationDocument, .specification) },
      Column(.requestBody) { row, box in
        .ifAny(row.task.originalRequest.body?.ownBytes) { box.sealed($0, .requestBody) }
      },
      Column(.tenant) { row, _ in .ifAny(row.tenant) { .string($0.name) } },
      Column(.groupKey) { row, box in
        guard let tenant = row.tenant else { return .null }
        return .ifAny(row.task.group) { .blob(box.names.name(group: $0, of: tenant)) }
      },
    ])
}

extension RowMapping<TransferTask> {
  static let respecifiedTask = RowMapping(
    .task,
    [
      Column(.specification) { task, box in box.sealed(task.specificationDocument, .specification) },
      Column(.id) { task, _ in .id(task.id) },
    ])
}

extension RowMapping<UpdatedTask> {
  static let updatedTask = RowMapping(
    .task,
    [
      Column(.state) { row, _ in .string(row.task.state.rawValue) },
      Column(.suspendCount) { row, _ in .integer(row.task.lifecycle.suspendCount) },
      Column(.outcome) { row, box in box.sealed(row.task.outcomeDocument, .outcome) },
      Column(.metrics, isKeptWhereNull: true) { row, box in
        .ifAny(row.task.metrics) { box.sealed($0.json, .metrics) }
      },
      Column(.hasBodyFile) { row, _ in .integer(row.task.body != nil && row.smallBody == nil ? 1 : 0) },
      Column(.smallBody) { row, box in .ifAny(row.smallBody) { box.sealed($0, .smallBody) } },
      Column(.completed) { row, _ in
        row.task.state == .completed ? .time(row.task.completedAt ?? row.task.createdAt) : .null
      },
      Column(.result) { row, _ in .ifAny(row.task.outcome) { .string($0.rawValue) } },
      Column(.sent) { row, _ in row.countsInGroup ? .integer(row.task.progress.countOfBytesSent) : .null },
      Column(.received) { row, _ in
        row.countsInGroup ? .integer(row.task.progress.countOfBytesReceived) : .null
      },
      Column(.keptUntil) { row, _ in .ifAny(row.task.keptUntil) { .time($0) } },
      Column(.keptBytes) { row, _ in row.task.keptUntil == nil ? .null : .integer(row.task.keptBytes) },
      Column(.id) { row, _ in .id(row.task.id) },
    ])
}

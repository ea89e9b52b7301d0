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
}

extension RowMapping<TransferTask> {
  static let createdTask = RowMapping(
    .task,
    [
      Column(.id) { task, _ in .id(task.id) },
      Column(.session) { task, _ in .id(task.sessionID) },
      Column(.identifier) { task, _ in .integer(task.taskIdentifier) },
      Column(.kind) { task, _ in .string(task.kind.rawValue) },
      Column(.state) { task, _ in .string(task.state.rawValue) },
      Column(.suspendCount) { task, _ in .integer(task.lifecycle.suspendCount) },
      Column(.created) { task, _ in .time(task.createdAt) },
      Column(.specification) { task, box in box.sealed(task.specificationDocument, .specification) },
      Column(.requestBody) { task, box in
        .ifAny(task.originalRequest.body?.ownBytes) { box.sealed($0, .requestBody) }
      },
    ])

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
      Column(.keptUntil) { row, _ in .ifAny(row.task.keptUntil) { .time($0) } },
      Column(.keptBytes) { row, _ in row.task.keptUntil == nil ? .null : .integer(row.task.keptBytes) },
      Column(.id) { row, _ in .id(row.task.id) },
    ])
}

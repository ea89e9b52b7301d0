internal import GRDB
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
    // The document is not written for that: nothing can come between.
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

  /// Sees to it that a row's columns and the seals and versions of its documents are good, at a tenth of what it costs to read
  /// them: what has a good seal was written by this program, or one like it.
  static func checkIntact(_ row: StoredRow) throws(UnreadableRow) {
    let (_, _): (TaskKind, TaskState) = (try row.choice(.kind), try row.choice(.state))
    for column in [StoredColumn.identifier, .suspendCount, .created, .isPruned] {
      _ = try row.integer(column)
    }
    for kind in [DocumentKind.specification, .outcome] {
      guard let document = try row.contentIfAny(kind), !document.starts(with: Document.start) else {
        continue
      }
      _ = try TransferTask(row)
      return
    }
  }
}

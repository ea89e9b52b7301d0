package import TransferModel

/// Consecutive events of one task or session, in the form in which streams carry them.
package struct JournalFragment: Sendable, Equatable {
  package let first: Int64
  package let last: Int64
  /// Whose the session is; nil where the store has no such session: no tenant hears of it.
  package let tenant: Tenant?
  package let sessionID: SessionID
  package let taskID: TaskID?
  /// When the first of them happened; nil where none of it is kept.
  package let time: Timestamp?
  /// What is kept; empty where all of it is progress.
  package let bytes: [UInt8]
  /// With the progress that was told between.
  package let bytesWithProgress: [UInt8]

  package init(
    first: Int64, last: Int64, tenant: Tenant?, sessionID: SessionID, taskID: TaskID?, time: Timestamp? = nil,
    bytes: [UInt8], bytesWithProgress: [UInt8]? = nil
  ) {
    self.first = first
    self.last = last
    self.tenant = tenant
    self.sessionID = sessionID
    self.taskID = taskID
    self.time = time
    self.bytes = bytes
    self.bytesWithProgress = bytesWithProgress ?? bytes
  }

  package var isProgressOnly: Bool { bytes.isEmpty }
}

extension JournalFragment {
  /// The events as text, each run of one task's as one fragment; all but progress is numbered.
  /// - Parameters:
  ///   - tenants: of the sessions.
  ///   - sequence: the last number that was given out.
  package static func render(
    _ events: [TransferEvent], _ tenants: [SessionID: Tenant], _ sequence: inout Int64
  ) -> [JournalFragment] {
    var fragments: [JournalFragment] = []
    var start = 0
    while start < events.count {
      let (task, session) = (events[start].taskID, events[start].sessionID)
      var end = start + 1
      while end < events.count, events[end].taskID == task, events[end].sessionID == session { end += 1 }
      fragments.append(render(events[start..<end], tenants[session], &sequence))
      start = end
    }
    return fragments
  }

  private static func render(
    _ run: ArraySlice<TransferEvent>, _ tenant: Tenant?, _ sequence: inout Int64
  ) -> JournalFragment {
    let first = sequence + 1
    var kept = ServerSentEventWriter()
    var all: ServerSentEventWriter?
    for event in run {
      if event.type.isProgress {
        if all == nil { all = kept }
        all?.append(event: event, sequence: nil)
      } else {
        sequence += 1
        kept.append(event: event, sequence: sequence)
        if all != nil { all?.append(event: event, sequence: sequence) }
      }
    }
    let head = run[run.startIndex]
    return JournalFragment(
      first: first, last: sequence, tenant: tenant, sessionID: head.sessionID, taskID: head.taskID,
      time: head.time, bytes: kept.bytes, bytesWithProgress: all?.bytes)
  }
}

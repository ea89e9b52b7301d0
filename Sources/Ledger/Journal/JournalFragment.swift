package import TransferModel

/// Consecutive events of one task or session, in the form in which streams carry them.
package struct JournalFragment: Sendable, Equatable {
  package let first: Int64
  package let last: Int64
  /// The session's tenant; `nil` if the ledger has no such session. No tenant then receives the events.
  package let tenant: Tenant?
  package let sessionID: SessionID
  package let taskID: TaskID?
  /// The group and labels of the task, or the group that the event is about; `nil` for most fragments.
  @IndirectOptional package private(set) var tags: TaskTags?
  /// The time of the first event; `nil` after progress was filtered or merged.
  package let time: Timestamp?
  /// The stored events; empty if all of them are progress.
  package let bytes: [UInt8]
  /// The stored events with the progress between them.
  package let bytesWithProgress: [UInt8]
  /// The events of a progress-only fragment; empty for any other.
  let progress: [Progress]

  package init(
    first: Int64, last: Int64, tenant: Tenant?, sessionID: SessionID, taskID: TaskID?, tags: TaskTags? = nil,
    time: Timestamp? = nil, bytes: [UInt8], bytesWithProgress: [UInt8]? = nil
  ) {
    self.init(
      first: first, last: last, tenant: tenant, sessionID: sessionID, taskID: taskID, tags: tags, time: time,
      bytes: bytes, bytesWithProgress: bytesWithProgress ?? bytes, progress: [])
  }

  private init(
    first: Int64, last: Int64, tenant: Tenant?, sessionID: SessionID, taskID: TaskID?, tags: TaskTags?,
    time: Timestamp?, bytes: [UInt8], bytesWithProgress: [UInt8], progress: [Progress]
  ) {
    self.first = first
    self.last = last
    self.tenant = tenant
    self.sessionID = sessionID
    self.taskID = taskID
    self.time = time
    self.bytes = bytes
    self.bytesWithProgress = bytesWithProgress
    self.progress = progress
    self.tags = tags
  }

  package var isProgressOnly: Bool { bytes.isEmpty }
}

extension JournalFragment {
  /// Renders the events as text. Consecutive events of one task become one fragment; all events except progress get a number.
  /// - Parameters:
  ///   - tenants: the tenants of the sessions.
  ///   - sequence: the last number that was assigned.
  ///   - tags: the groups and labels of the tasks that have any.
  package static func render(
    _ events: [TransferEvent], _ tenants: [SessionID: Tenant], _ sequence: inout Int64,
    tags: [TaskID: TaskTags] = [:]
  ) -> [JournalFragment] {
    var fragments: [JournalFragment] = []
    var start = 0
    while start < events.count {
      let (task, session) = (events[start].taskID, events[start].sessionID)
      var end = start + 1
      while end < events.count, events[end].taskID == task, events[end].sessionID == session { end += 1 }
      let tags = tags.isEmpty ? nil : task.flatMap { tags[$0] }
      fragments.append(render(events[start..<end], events[start].tenant ?? tenants[session], tags, &sequence))
      start = end
    }
    return fragments
  }

  private static func render(
    _ run: ArraySlice<TransferEvent>, _ tenant: Tenant?, _ tags: TaskTags?, _ sequence: inout Int64
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
      tags: tags ?? head.groupTags, time: head.time, bytes: kept.bytes,
      bytesWithProgress: all?.bytes ?? kept.bytes,
      progress: kept.bytes.isEmpty ? run.compactMap(Progress.init) : [])
  }
}

// MARK: Progress

extension JournalFragment {
  /// One progress event.
  struct Progress: Sendable, Equatable {
    let type: EventType
    let time: Timestamp
    let counts: TaskProgress
    /// Bytes since the previous event of this type.
    var growth: Int64

    init?(_ event: TransferEvent) {
      guard case .progress(let counts, let growth) = event.payload else { return nil }
      (type, time, self.counts, self.growth) = (event.type, event.time, counts, growth)
    }
  }

  /// Returns the progress events of this fragment that have one of the types.
  /// - Precondition: the fragment consists of progress only.
  package func progress(of types: Set<EventType>) -> JournalFragment {
    progress.allSatisfy { types.contains($0.type) }
      ? self : withProgress(progress.filter { types.contains($0.type) })
  }

  /// Merges an undelivered earlier fragment of the same task into this one and adds up the growth.
  /// - Precondition: both fragments consist of progress only.
  package func merging(earlier: JournalFragment) -> JournalFragment {
    assert(isProgressOnly && earlier.isProgressOnly && taskID == earlier.taskID)
    var all = progress
    var before: [Progress] = []
    for event in earlier.progress {
      if let place = all.firstIndex(where: { $0.type == event.type }) {
        all[place].growth += event.growth
      } else {
        before.append(event)
      }
    }
    return withProgress(before + all)
  }

  private func withProgress(_ events: [Progress]) -> JournalFragment {
    var writer = ServerSentEventWriter()
    for event in events {
      writer.append(
        event: TransferEvent(
          event.type, at: event.time, session: sessionID, task: taskID,
          .progress(event.counts, delta: event.growth)),
        sequence: nil)
    }
    return JournalFragment(
      first: first, last: last, tenant: tenant, sessionID: sessionID, taskID: taskID, tags: tags,
      time: nil, bytes: [], bytesWithProgress: writer.bytes, progress: events)
  }
}

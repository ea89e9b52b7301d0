import Ledger
import Testing
import TransferModel

/// The contract for decisions, files, request bodies, and progress, which is not stored.
struct DecisionConformance {
  static let cases: [ConformanceCase] =
    [
      .init("decisionsAreReadAsWritten") { try await Self().decisionsAreReadAsWritten($0) },
      .init("deletedFileIsNotFound") { try await Self().deletedFileIsNotFound($0) },
      .init("progressIsPublishedButNotStored") { try await Self().progressIsPublishedButNotStored($0) },
    ]
    + bodies.map { body in
      .init("taskWithRequestBodyIsReadAsWritten \(body as Any)") {
        try await Self().taskWithRequestBodyIsReadAsWritten($0, body)
      }
    }
  private static let bodies: [RequestContent?] = [
    nil, .data([]), .data([0, 255]), .stream, .file(FileID(high: 3, low: 4), size: 7),
  ]

  private static let time = Timestamp(seconds: 1_800_000_000)
  private static func task(_ number: UInt64, _ specification: TaskSpecification) -> TransferTask {
    TransferTask(
      id: TaskID(high: 1, low: number), sessionID: .shared, taskIdentifier: Int(number), createdAt: time,
      specification: specification)
  }

  private static func decision(_ number: UInt64, of session: SessionID = .shared) -> Decision {
    Decision(
      id: DecisionID(high: 1, low: number), type: .taskWillPerformHTTPRedirection, sessionID: session,
      taskID: TaskID(high: 1, low: number), createdAt: time, expiresAt: time.adding(seconds: 60),
      defaultAnswer: "follow", arguments: Array(#"{"a":1}"#.utf8), question: number == 1 ? nil : Int(number))
  }

  func decisionsAreReadAsWritten(_ kind: LedgerKind) async throws {
    let store = try LedgerBench(kind).open()
    let other = SessionID(high: 5, low: 5)
    var decisions = (1...3).map { Self.decision($0) }
    var change = LedgerChange()
    change.newDecisions = decisions + [Self.decision(4, of: other)]
    try await store.write(change)
    #expect(try await store.decision(decisions[0].id) == decisions[0])
    #expect(try await store.decision(DecisionID(high: 9, low: 9)) == nil)
    decisions[1].state = .answered
    decisions[1].answer = Array(#"{"request":null}"#.utf8)
    change = LedgerChange()
    change.settledDecisions = [SettledDecision(decisions[1])]
    try await store.write(change)
    func list(_ state: Decision.State?, after: DecisionID? = nil, limit: Int = 10) async throws -> [Decision]
    {
      try await store.decisions(of: .shared, state: state, after: after, limit: limit)
    }
    #expect(try await list(nil) == decisions)
    #expect(try await list(.answered) == [decisions[1]])
    #expect(try await list(nil, after: decisions[0].id, limit: 1) == [decisions[1]])
    try await store.write { $0.ownership = .joins(address: "") }
    try await store.write { $0.ownership = .takesOver([]) }
    #expect(try await list(nil).map(\.state) == [.withdrawn, .answered, .withdrawn])
    change = LedgerChange()
    change.deletedSession = .shared
    try await store.write(change)
    #expect(try await list(nil).isEmpty)
    await store.close()
  }

  func deletedFileIsNotFound(_ kind: LedgerKind) async throws {
    let store = try LedgerBench(kind).open()
    let files = (1...3).map { number in
      StoredFile(
        id: FileID(high: 1, low: number), tenant: .default, createdAt: Self.time, size: Int64(number),
        sha256: "ab", contentType: number == 2 ? nil : "a/b",
        fromTask: number == 3 ? TaskID(high: 2, low: 2) : nil)
    }
    var change = LedgerChange()
    change.newFiles = files
    try await store.write(change)
    #expect(try await store.files(of: .default, after: nil, limit: 10) == files)
    #expect(try await store.files(of: .default, after: files[0].id, limit: 1) == [files[1]])
    #expect(try await store.files(of: Tenant(name: "t"), after: nil, limit: 10) == [])
    change = LedgerChange()
    change.deletedFiles = [files[0].id]
    try await store.write(change)
    #expect(try await store.file(files[0].id) == nil)
    #expect(try await store.file(files[2].id) == files[2])
    await store.close()
  }

  func taskWithRequestBodyIsReadAsWritten(_ kind: LedgerKind, _ body: RequestContent?) async throws {
    var specification = TaskSpecification(
      kind: .upload, request: TransferRequest(url: "http://a/", body: body))
    specification.earliestBeginDate = Self.time
    specification.maximumBytesPerSecond = 5
    specification.hasInvalidResumeData = true
    specification.resumePoint = ResumePoint(
      partial: PartialBody(offset: 1, total: -1, validator: "\"x\""), source: TaskID(high: 8, low: 8))
    var task = Self.task(1, specification)
    let store = try LedgerBench(kind).open()
    var change = LedgerChange()
    change.createdTasks = [task]
    try await store.write(change)
    #expect(try await store.task(task.id) == task)
    task.description = "new"
    task.priority = 0.9
    task.earliestBeginDate = nil
    task.maximumBytesPerSecond = nil
    change = LedgerChange()
    change.editedTasks = [task]
    try await store.write(change)
    #expect(try await store.task(task.id) == task)
    task.partial = ResumePoint(partial: PartialBody(offset: 3, total: 9, validator: "d"), source: task.id)
    task.downloadTask = TaskID(high: 7, low: 7)
    task.error = TransferError(.networkConnectionLost, "lost")
    task.error?.resumeDataAvailable = true
    change = LedgerChange()
    change.updatedTasks = [task]
    try await store.write(change)
    #expect(try await store.task(task.id) == task)
    await store.close()
  }

  /// Progress is published between the events, but not stored.
  func progressIsPublishedButNotStored(_ kind: LedgerKind) async throws {
    let bench = LedgerBench(kind)
    let store = try bench.open()
    let id = TaskID(high: 1, low: 1)
    func event(_ type: EventType) -> TransferEvent {
      TransferEvent(type, at: Self.time, session: .shared, task: id, .progress(TaskProgress(), delta: 1))
    }
    var change = LedgerChange()
    change.events = [event(.taskDidCreate), event(.dataTaskDidReceiveData), event(.taskDidComplete)]
    try await store.write(change)
    store.record(LedgerChange(progress: [event(.taskDidSendBodyData)], of: .shared)) {}
    change.events = [event(.dataTaskDidReceiveData), event(.taskDidChangeState)]
    try await store.write(change)
    func types(_ bytes: [UInt8]) -> [EventType] {
      ServerSentEvents.split(bytes).compactMap { ServerSentEvents.type(of: $0) }
    }
    let page = try await store.journal(.task(id), after: 0, maximumBytes: 1 << 20)
    #expect(
      page.fragments.map { types($0.bytes) } == [[.taskDidCreate, .taskDidComplete], [.taskDidChangeState]])
    #expect(store.lastSequence == 3)
    await store.close()
    // A commit is published after its caller resumes; `close` waits for that.
    #expect(
      bench.published.map { types($0.bytesWithProgress) } == [
        [.taskDidCreate, .dataTaskDidReceiveData, .taskDidComplete], [.taskDidSendBodyData],
        [.dataTaskDidReceiveData, .taskDidChangeState],
      ])
    #expect(bench.published.map(\.isProgressOnly) == [false, true, false])
  }
}

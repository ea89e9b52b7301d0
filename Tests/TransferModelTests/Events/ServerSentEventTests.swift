import JSON
import Testing

@testable import TransferModel

@Suite struct ServerSentEventTests {
  private static let time = Timestamp(seconds: 1_769_860_800)

  private static func event(_ type: EventType, _ payload: TransferEvent.Payload = .invalidated)
    -> TransferEvent
  {
    TransferEvent(type, at: time, session: .shared, task: TaskID(high: 1, low: 2), payload)
  }

  private func stream(_ events: [(EventType, Int64?)]) -> [UInt8] {
    var writer = ServerSentEventWriter()
    for (type, sequence) in events { writer.append(event: Self.event(type), sequence: sequence) }
    return writer.bytes
  }

  @Test func `event has three lines and a blank one`() {
    var writer = ServerSentEventWriter()
    writer.append(event: Self.event(.taskDidChangeState, .stateChanged(.running, .queued)), sequence: 42)
    #expect(
      String(decoding: writer.bytes, as: UTF8.self) == """
        id: 42
        event: task.didChangeState
        data: {"id":42,"type":"task.didChangeState","time":"2026-01-31T12:00:00.000Z",\
        "sessionId":"ses_shared","taskId":"tsk_00000000-0000-0001-0000-000000000002",\
        "data":{"state":"running","phase":"queued"}}


        """)
  }

  @Test func progressHasNoSequence() {
    var writer = ServerSentEventWriter()
    var progress = TaskProgress()
    progress.countOfBytesReceived = 30
    progress.countOfBytesExpectedToReceive = 90
    let event = TransferEvent(
      .downloadTaskDidWriteData, at: Self.time, session: .shared, .progress(progress, delta: 10))
    writer.append(event: event, sequence: nil)
    #expect(
      String(decoding: writer.bytes, as: UTF8.self) == """
        event: downloadTask.didWriteData
        data: {"id":null,"type":"downloadTask.didWriteData","time":"2026-01-31T12:00:00.000Z",\
        "sessionId":"ses_shared","taskId":null,\
        "data":{"bytesWritten":10,"totalBytesWritten":30,"totalBytesExpectedToWrite":90}}


        """)
  }

  @Test func lineEndsInTheDataStayEscaped() {
    let task = TransferTask(
      id: TaskID(high: 1, low: 2), sessionID: .shared, taskIdentifier: 1, createdAt: Self.time,
      specification: {
        var specification = TaskSpecification(kind: .data, request: TransferRequest(url: "http://a/"))
        specification.description = "one\n\nid: 9\r\nevent: x"
        return specification
      }())
    var writer = ServerSentEventWriter()
    writer.append(event: Self.event(.taskDidCreate, .created(task)), sequence: 1)
    #expect(writer.bytes.filter { $0 == 0x0A }.count == 4)
    #expect(!writer.bytes.contains(0x0D))
  }

  private static let sequence: [(EventType, Int64?)] = [
    (.taskDidCreate, 1), (.taskDidComplete, 2), (.dataTaskDidReceiveData, nil), (.taskDidCreate, 10),
    (.taskDidChangeState, 11),
  ]

  @Test(
    arguments: [
      (Int64(0), nil, [1, 2, 10, 11]), (1, nil, [2, 10, 11]), (2, nil, [10, 11]), (9, nil, [10, 11]),
      (11, nil, []),
      (0, [.taskDidCreate], [1, 10]), (1, [.taskDidCreate], [10]), (0, [], []),
      (0, [.taskDidComplete, .taskDidChangeState], [2, 11]), (0, [.sessionDidBecomeInvalid], []),
      (0, [.dataTaskDidReceiveData], []),
    ] as [(Int64, Set<EventType>?, [Int64])])
  func `later events of wanted types are kept`(_ after: Int64, _ types: Set<EventType>?, _ kept: [Int64]) {
    // Progress has no number, so every progress event of a wanted type is kept.
    let expected = Self.sequence.filter { event in
      event.1.map(kept.contains) ?? (types?.contains(event.0) ?? true)
    }
    #expect(ServerSentEvents.filter(stream(Self.sequence), after: after, types: types) == stream(expected))
  }

  @Test func `filter drops an incomplete event`() {
    let whole = stream([(.taskDidCreate, 1), (.taskDidComplete, 2)])
    let first = stream([(.taskDidCreate, 1)])
    for cut in first.count..<whole.count {
      #expect(ServerSentEvents.filter(Array(whole[..<cut]), after: 0, types: nil) == first)
    }
    #expect(ServerSentEvents.filter([], after: 0, types: nil).isEmpty)
  }
}

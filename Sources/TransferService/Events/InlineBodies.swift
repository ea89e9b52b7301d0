internal import EngineAPI
internal import EventLoop
internal import Ledger
internal import TransferModel

/// The bytes of data tasks on their way into an event stream (`?data=inline`), each at its place between the events of
/// its task: after the response that it belongs to, before the next one and before the end. Nothing is left out: where
/// the reader of the stream is slow, the tasks' origins wait.
struct InlineBodies {
  private struct Body {
    let session: SessionID
    let live: LiveBody
    let stream: BodyStream
    /// Responses of the task that the stream has shown; its parts' bytes may follow.
    var responsesShown = 0
    var isDone = false
  }
  private struct Event {
    let task: TaskID?
    let type: EventType?
    let bytes: ArraySlice<UInt8>
  }
  /// Bytes in one event, and about how many are made ready at a time.
  private static let chunkSize = 48 * 1024
  private static let readySize = 128 * 1024

  private var bodies: [TaskID: Body] = [:]
  /// Events that wait for bytes to go first.
  private var events: [Event] = []
  private var head = 0

  var hasEvents: Bool { head < events.count }

  mutating func attach(
    _ live: LiveBody, of task: TaskID, in session: SessionID, pool: WorkerPool, shown: Int,
    onNews: @escaping @Sendable () -> Void
  ) {
    guard bodies[task]?.live !== live else { return }
    bodies[task]?.stream.close()
    let stream = BodyStream(live, pool: pool)
    stream.start(onNews: onNews)
    bodies[task] = Body(session: session, live: live, stream: stream, responsesShown: shown)
  }

  /// Takes events of the stream's own text.
  mutating func add(_ text: [UInt8], of task: TaskID?) {
    for bytes in ServerSentEvents.split(text) {
      let type = ServerSentEvents.type(of: bytes)
      // Counts come with the bytes here.
      if type == .dataTaskDidReceiveData, let task, bodies[task] != nil { continue }
      events.append(Event(task: task, type: type, bytes: bytes))
    }
  }

  /// Moves on what may go now.
  /// - Parameter wanted: the types that the reader asked for; nil: all.
  mutating func fill(_ ready: inout [UInt8], at time: () -> Timestamp, wanted: Set<EventType>?) {
    while ready.count < Self.readySize {
      guard head < events.count else { break }
      let event = events[head]
      if let task = event.task, Self.waits(event.type), let body = bodies[task], body.responsesShown > 0 {
        let isDrained = drain(task, into: &ready, time, wanted)
        guard isDrained || event.type == .dataTaskWillCacheResponse && hasAllSoFar(task) else { return }
        if ready.count >= Self.readySize, bodies[task]?.isDone == false { return }
      }
      pass(event, &ready, wanted)
    }
    if head == events.count {
      events.removeAll(keepingCapacity: events.count < 256)
      head = 0
      for task in bodies.keys where ready.count < Self.readySize {
        _ = drain(task, into: &ready, time, wanted)
      }
    }
  }

  mutating func close() {
    for body in bodies.values { body.stream.close() }
    bodies.removeAll()
    events.removeAll()
  }

  /// What only follows when all bytes before it have gone.
  private static func waits(_ type: EventType?) -> Bool {
    switch type {
    case .dataTaskDidReceiveResponse, .dataTaskWillCacheResponse, .taskDidFinishCollectingMetrics,
      .taskDidComplete:
      true
    default: false
    }
  }

  /// The body ends only when it is known whether it is stored: its bytes are all here before.
  private func hasAllSoFar(_ task: TaskID) -> Bool {
    guard let body = bodies[task] else { return true }
    return body.stream.offset >= body.live.extent(ofParts: body.responsesShown).limit
  }

  private mutating func pass(_ event: Event, _ ready: inout [UInt8], _ wanted: Set<EventType>?) {
    head += 1
    if wanted.map({ wanted in event.type.map(wanted.contains) ?? false }) ?? true { ready += event.bytes }
    guard let task = event.task else { return }
    switch event.type {
    case .dataTaskDidReceiveResponse:
      bodies[task]?.responsesShown += 1
      bodies[task]?.isDone = false
    case .taskDidComplete, .dataTaskDidBecomeDownloadTask: bodies.removeValue(forKey: task)?.stream.close()
    default: break
    }
  }

  /// Writes what is here of the parts that were shown; false where more of them is still to come.
  private mutating func drain(
    _ task: TaskID, into ready: inout [UInt8], _ time: () -> Timestamp, _ wanted: Set<EventType>?
  ) -> Bool {
    guard let body = bodies[task], body.responsesShown > 0, !body.isDone else { return true }
    while ready.count < Self.readySize {
      let (limit, isFinal) = body.live.extent(ofParts: body.responsesShown)
      if !isFinal, body.stream.offset >= limit {
        return !body.live.isGrowing(beyondParts: body.responsesShown)
      }
      switch body.stream.read(maximum: Self.chunkSize, upTo: limit) {
      case .bytes(let bytes):
        guard wanted?.contains(.dataTaskDidReceiveData) ?? true else { continue }
        var progress = TaskProgress()
        progress.countOfBytesReceived = body.stream.offset
        progress.countOfBytesExpectedToReceive = body.live.response?.expectedContentLength ?? -1
        let event = TransferEvent(
          .dataTaskDidReceiveData, at: time(), session: body.session, task: task, .data(bytes, progress))
        var writer = ServerSentEventWriter()
        writer.append(event: event, sequence: nil)
        ready += writer.bytes
      case .wait: return false
      case .end, .failed:
        bodies[task]?.isDone = true
        return true
      }
    }
    return true
  }
}

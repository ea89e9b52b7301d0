internal import EngineAPI
internal import EventLoop
internal import Ledger
internal import TransferModel

/// The bytes of data tasks in an event stream (`?data=inline`). Each task's bytes follow their response and precede the next
/// response and the task's end. No byte is left out: if the stream's reader is slow, the tasks' origins wait.
struct InlineBodies {
  private struct Body {
    let session: SessionID
    let live: LiveBody
    let stream: BodyStream
    /// The number of the task's responses that the stream has sent. Bytes of these parts may follow.
    var responsesShown = 0
    var isDone = false
  }
  private struct Event {
    let task: TaskID?
    let type: EventType?
    let bytes: ArraySlice<UInt8>
  }
  /// Bytes in one event. `readySize` is about how many are made ready at a time.
  private static let chunkSize = 48 * 1024
  private static let readySize = 128 * 1024

  private var bodies: [TaskID: Body] = [:]
  /// Events that wait until bytes before them are sent.
  private var events: [Event] = []
  private var head = 0

  var hasEvents: Bool { head < events.count }

  mutating func attach(
    _ live: LiveBody, of task: TaskID, in session: SessionID, pool: ThreadPool, shown: Int,
    onReadable: @escaping @Sendable () -> Void
  ) {
    guard bodies[task]?.live !== live else { return }
    bodies[task]?.stream.close()
    let stream = BodyStream(live, pool: pool)
    stream.start(onReadable: onReadable)
    bodies[task] = Body(session: session, live: live, stream: stream, responsesShown: shown)
  }

  /// Adds events from the stream's text.
  mutating func add(_ text: [UInt8], of task: TaskID?) {
    for bytes in ServerSentEvents.split(text) {
      let type = ServerSentEvents.type(of: bytes)
      // The bytes' own events carry these counts.
      if type == .dataTaskDidReceiveData, let task, bodies[task] != nil { continue }
      events.append(Event(task: task, type: type, bytes: bytes))
    }
  }

  /// Moves events and bytes to `ready` as far as their order allows.
  /// - Parameter wanted: the requested types, or `nil` for all types.
  mutating func fill(_ ready: inout [UInt8], at time: () -> Timestamp, wanted: Set<EventType>?) {
    while ready.count < Self.readySize {
      guard head < events.count else { break }
      let event = events[head]
      if let task = event.task, Self.followsAllBytes(event.type), let body = bodies[task],
        body.responsesShown > 0
      {
        let isDrained = drain(task, into: &ready, time, wanted)
        guard isDrained || event.type == .dataTaskWillCacheResponse && hasSentAllReceived(task) else {
          return
        }
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

  /// Whether an event of this type follows all earlier bytes of its task.
  private static func followsAllBytes(_ type: EventType?) -> Bool {
    switch type {
    case .dataTaskDidReceiveResponse, .dataTaskWillCacheResponse, .taskDidFinishCollectingMetrics,
      .taskDidComplete:
      true
    default: false
    }
  }

  /// Whether all bytes received so far are sent. The body ends only after the caching decision, which is made when all bytes are
  /// here.
  private func hasSentAllReceived(_ task: TaskID) -> Bool {
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

  /// Writes the available bytes of the parts that were shown. Returns `false` if more bytes of these parts are expected.
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

internal import FoundationEssentials

/// The state of a task in this program. It receives the program's calls and the service's events, and returns the calls of the delegate
/// and the requests to the service. It uses no clock, lock or connection.
///
/// The order of the delegate's calls is that of URLSession. The body arrives on a connection of its own. So the events after the response
/// wait until the body has been delivered.
struct TaskCallMachine: Sendable {
  enum Kind: String, Sendable { case data, upload, download }
  /// The receiver of the response and its body.
  enum Style: Sendable { case delegate, completionHandler, bytes }
  enum State: Sendable { case running, suspended, canceling, completed }
  /// The input of the machine.
  enum Input: Sendable {
    case resume, suspend
    case cancel(producingResumeData: Bool)
    case event(TaskEvent)
    case snapshot(TaskSnapshot)
    /// The response of a task whose events do not have it.
    case responseKnown(HTTPFerryResponse)
    /// The service did not create the task, or refused its body.
    case refused(FerryError)
    /// The program has no body for a streamed upload, or its stream has failed.
    case bodyFailed(FerryError)
    /// The delegate has allowed the response.
    case responseAllowed
    case bodyBytes(Data)
    case bodyEnded(FerryError?)
    case fileArrived(HTTPFerryResponse?, Result<URL, FerryError>)
  }
  /// `promised` stands for a body whose response the delegate has not allowed yet.
  private enum Body { case none, promised, arriving, ended }

  let kind: Kind
  let style: Style
  private(set) var state = State.suspended
  private(set) var response: HTTPFerryResponse?
  private(set) var error: FerryError?
  private(set) var sent: Int64 = 0
  private(set) var expectedToSend: Int64
  private(set) var received: Int64 = 0
  private(set) var expectedToReceive: Int64 = -1
  /// The service knows the task, or will soon.
  private(set) var isCreated: Bool
  private var suspensions: Int
  private var body = Body.none
  private var collected = Data()
  private var file: URL?
  /// Events that wait for the end of the body.
  private var held: [TaskEvent] = []
  private var hasFetched = false
  /// The reason why the machine itself has cancelled the task.
  private var bodyError: FerryError?

  init(kind: Kind, style: Style, expectedToSend: Int64 = 0) {
    self.kind = kind
    self.style = style
    self.expectedToSend = expectedToSend
    isCreated = false
    suspensions = 1
  }

  /// A task of an earlier run of the program.
  init(adopting snapshot: TaskSnapshot, kind: Kind) {
    self.kind = kind
    style = .delegate
    expectedToSend = -1
    isCreated = true
    suspensions = snapshot.isSuspended ? 1 : 0
    state = snapshot.isSuspended ? .suspended : .running
  }

  /// The service has created the task itself, and runs it.
  mutating func beginAsCreated() { (isCreated, suspensions, state) = (true, 0, .running) }

  mutating func handle(_ input: Input) -> [TaskEffect] {
    guard state != .completed else { return [] }
    switch input {
    case .resume: return resume()
    case .suspend: return suspend()
    case .cancel(let producing): return cancel(producing)
    case .event(let event): return isHeld(event) ? hold(event) : handle(event)
    case .snapshot(let snapshot): return handle(snapshot)
    case .responseKnown(let response):
      self.response = self.response ?? response
      return []
    case .refused(let error): return end(error)
    case .bodyFailed(let error):
      bodyError = bodyError ?? error
      return cancel(false)
    case .responseAllowed: return readBody()
    case .bodyBytes(let bytes): return deliver(bytes)
    case .bodyEnded(let error): return endBody(error)
    case .fileArrived(let response, let result):
      self.response = response ?? self.response
      return endFile(result)
    }
  }

  // MARK: Calls of the program

  private mutating func resume() -> [TaskEffect] {
    guard state == .suspended else { return [] }
    suspensions -= 1
    if suspensions == 0 { state = .running }
    guard isCreated else {
      guard suspensions == 0 else { return [] }
      isCreated = true
      return [.command(.create)]
    }
    return [.command(.resume)]
  }

  private mutating func suspend() -> [TaskEffect] {
    guard state != .canceling else { return [] }
    suspensions += 1
    state = .suspended
    return isCreated ? [.command(.suspend)] : []
  }

  private mutating func cancel(_ producing: Bool) -> [TaskEffect] {
    guard state != .canceling else { return [] }
    state = .canceling
    guard isCreated else { return end(FerryError(.cancelled, message: "cancelled")) }
    return [.command(.cancel(producingResumeData: producing))]
  }

  // MARK: Events

  /// Whether the delegate receives the event only after the body, or after the part of it that has arrived.
  private func isHeld(_ event: TaskEvent) -> Bool {
    guard body == .arriving || body == .promised else { return false }
    return switch event {
    case .metrics, .completed: true
    case .becameDownload: body == .arriving
    // The body ends only after the answer. The size of a coded body says nothing about the bytes that arrive.
    case .willCache(_, let size, _):
      received < size && response?.value(forHTTPHeaderField: "Content-Encoding") == nil
    default: false
    }
  }

  private mutating func hold(_ event: TaskEvent) -> [TaskEffect] {
    held.append(event)
    guard case .completed(let error, let size) = event else { return [] }
    if body == .promised {
      // The decision has expired, or its answer is on the way.
      guard error == nil, (size ?? 0) > 0 else { return release() }
      body = .arriving
      return [.readBody]
    }
    // A cancelled task has no further body. The connection of the body may not notice.
    return error?.code == .cancelled || state == .canceling ? [.stopReading] + endBody(nil) : []
  }

  /// Handles the events that have waited.
  private mutating func release() -> [TaskEffect] {
    body = .ended
    let events = held
    held = []
    return events.flatMap { state == .completed ? [] : handle($0) }
  }

  private mutating func handle(_ event: TaskEvent) -> [TaskEffect] {
    switch event {
    case .stateChanged(let isSuspended):
      // Another client may suspend or resume the task.
      if state == .running && isSuspended { (state, suspensions) = (.suspended, 1) }
      if state == .suspended && !isSuspended && isCreated { (state, suspensions) = (.running, 0) }
      return []
    case .challenge(let challenge, let isSessionLevel, let decision):
      return [.call(.challenge(challenge, isSessionLevel: isSessionLevel, decision: decision))]
    case .redirect(let response, let request, let decision):
      return [.call(.redirect(response, request, decision: decision))]
    case .needsBody: return [.sendBody]
    case .sent(let bytes, let total, let expected):
      (sent, expectedToSend) = (total, expected)
      return [.call(.sent(bytes: bytes, total: total, expected: expected))]
    case .informational(let response): return [.call(.informational(response))]
    case .waitsForConnectivity: return [.call(.waitsForConnectivity)]
    case .delayed(let request, let decision): return [.call(.delayed(request, decision: decision))]
    case .response(let response, let decision): return respond(response, decision)
    case .received(let total, let expected):
      if style != .delegate { received = total }
      expectedToReceive = expected
      return []
    case .becameDownload(let id): return [.call(.becameDownload(id: id))]
    case .willCache(let response, _, let decision):
      if style == .delegate { return [.call(.willCache(response, decision: decision))] }
      return decision.map { [.store(response, decision: $0)] } ?? []
    case .resumed(let offset, let expected):
      (received, expectedToReceive) = (offset, expected)
      return [.call(.resumed(offset: offset, expected: expected))]
    case .wrote(let bytes, let total, let expected):
      (received, expectedToReceive) = (total, expected)
      return [.call(.wrote(bytes: bytes, total: total, expected: expected))]
    case .finishedDownloading:
      guard !hasFetched else { return [] }
      hasFetched = true
      body = .arriving
      return [.fetchFile]
    case .metrics(let metrics): return [.call(.metrics(metrics))]
    case .completed(let error, let size): return complete(error, size)
    }
  }

  private mutating func respond(_ response: HTTPFerryResponse, _ decision: String?) -> [TaskEffect] {
    self.response = response
    expectedToReceive = response.expectedContentLength
    if style == .completionHandler { return decision.map { [.allow(decision: $0)] } ?? [] }
    let call = TaskEffect.call(.response(response, decision: decision))
    if decision == nil { return [call] + readBody() }
    if style == .delegate, body == .none { body = .promised }
    return [call]
  }

  private mutating func readBody() -> [TaskEffect] {
    guard style == .delegate, body == .none || body == .promised else { return [] }
    body = .arriving
    return [.readBody]
  }

  private mutating func deliver(_ bytes: Data) -> [TaskEffect] {
    guard body == .arriving else { return [] }
    received += style == .delegate ? Int64(bytes.count) : 0
    if style != .completionHandler {
      // A decision about the cache comes first, because the body ends after its answer.
      let events = held
      held = []
      var due: [TaskEvent] = []
      for event in events { if isHeld(event) { held.append(event) } else { due.append(event) } }
      return [.call(.data(bytes))] + due.flatMap { handle($0) }
    }
    collected += bytes
    return []
  }

  private mutating func complete(_ error: FerryError?, _ size: Int64?) -> [TaskEffect] {
    // A completion handler's body is read when it is whole, and so is a body whose response nothing has allowed in time.
    if style != .bytes, kind != .download, error == nil, (size ?? 0) > 0, body == .none, state != .canceling {
      body = .arriving
      held = [.completed(nil, size: size)]
      return [.readBody]
    }
    return end(error)
  }

  // MARK: Bodies

  private mutating func endBody(_ error: FerryError?) -> [TaskEffect] {
    guard body == .arriving else { return [] }
    // The events have the reason. Without an event, the body could not be read although the task has succeeded.
    if let error, case .completed(nil, _)? = held.last { held[held.count - 1] = .completed(error, size: nil) }
    return release()
  }

  private mutating func endFile(_ result: Result<URL, FerryError>) -> [TaskEffect] {
    switch result {
    case .success(let file):
      self.file = file
      let calls: [TaskEffect] = style == .delegate ? [.call(.finishedDownloading(file))] : []
      return calls + endBody(nil)
    case .failure(let error): return endBody(error)
    }
  }

  private mutating func end(_ reported: FerryError?) -> [TaskEffect] {
    let error = state == .canceling ? cancellation(reported) : reported
    self.error = error
    state = .completed
    let whole = error == nil && style == .completionHandler
    let call = DelegateCall.completed(
      error, body: whole && kind != .download ? collected : nil, file: whole ? file : nil)
    (collected, held) = (Data(), [])
    return [.call(call), .end]
  }

  /// Returns the error of a task that the program has cancelled, although it may have ended before the service received the command.
  private func cancellation(_ reported: FerryError?) -> FerryError {
    if let bodyError { return bodyError }
    if let reported, reported.code == .cancelled { return reported }
    return FerryError(.cancelled, message: "cancelled")
  }

  // MARK: Missed events

  private mutating func handle(_ snapshot: TaskSnapshot) -> [TaskEffect] {
    if snapshot.received > received, style != .delegate || kind == .download { received = snapshot.received }
    guard snapshot.isCompleted else { return [] }
    var events: [TaskEvent] = []
    if let missed = snapshot.response, response == nil, kind != .download {
      events.append(.response(missed, decision: nil))
    }
    response = response ?? snapshot.response
    if kind == .download, snapshot.error == nil { events.append(.finishedDownloading) }
    events.append(.completed(snapshot.error, size: snapshot.bodySize))
    return events.flatMap { state == .completed ? [] : handle(.event($0)) }
  }
}

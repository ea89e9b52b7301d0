internal import EventLoop
public import FoundationEssentials
internal import Synchronization

/// A task. `URLSessionTask` in Apple's URLSession. A task is created suspended; `resume()` begins it.
///
/// The service knows a task from its first `resume()`. The properties that a program sets must be set before.
public class FerrySessionTask: @unchecked Sendable, Hashable {
  // Unchecked: the class is not final. Its variable state is in `shared`.
  /// The state of a task.
  public enum State: Int, Sendable { case running, suspended, canceling, completed }

  /// The source of the body that a task sends.
  enum Source: Sendable {
    case none
    case data(Data)
    case file(URL)
    case stream
  }
  /// The receiver of the result of a task without delegate calls.
  enum Handler: Sendable {
    case none
    case data(@Sendable (Data?, FerryResponse?, (any Error)?) -> Void)
    /// - Parameter keepsFile: whether the file stays after the handler has returned.
    case download(keepsFile: Bool, @Sendable (URL?, FerryResponse?, (any Error)?) -> Void)
  }
  struct Shared {
    var machine: TaskCallMachine
    var options = TaskOptions()
    var id: String?
    var currentRequest: FerryRequest?
    var commands = SerialDrain<TaskCommand>()
    var delegate: (any FerrySessionTaskDelegate)?
    var reader: Task<Void, Never>?
    var storedFile: String?
    /// The service has made the download a file of the client, which stays.
    var isPlaced = false
    var hasUsedStream = false
    var resumeData: String?
    /// The program has received resume data of the task.
    var hasResumeData = false
    var cancelHandlers: [@Sendable (Data?) -> Void] = []
    var waiters: [Waiter] = []
    var onResponse: Waiter?
    var onCreation: [Waiter] = []
  }

  /// The number of the task in its session.
  public let taskIdentifier: Int
  /// The request that the task began with; `nil` for a task with resume data.
  public let originalRequest: FerryRequest?
  let session: FerrySession
  let source: Source
  let handler: Handler
  let shared: Mutex<Shared>

  init(_ seed: TaskSeed, in session: FerrySession) {
    taskIdentifier = seed.identifier
    originalRequest = seed.request
    self.session = session
    source = seed.source
    handler = seed.handler
    var shared = Shared(machine: seed.machine)
    shared.id = seed.id
    shared.resumeData = seed.resumeData
    shared.currentRequest = seed.request
    self.shared = Mutex(shared)
  }

  /// The request of the latest redirect, or else the original request.
  public var currentRequest: FerryRequest? { shared.withLock { $0.currentRequest } }
  /// The response; `nil` before it has arrived.
  public var response: FerryResponse? { shared.withLock { $0.machine.response } }
  /// The error that ended the task.
  public var error: (any Error)? { shared.withLock { $0.machine.error } }
  /// The bytes of the body that were sent.
  public var countOfBytesSent: Int64 { shared.withLock { $0.machine.sent } }
  /// The size of the body to send; -1 if it is unknown.
  public var countOfBytesExpectedToSend: Int64 { shared.withLock { $0.machine.expectedToSend } }
  /// The bytes of the body that were received.
  public var countOfBytesReceived: Int64 { shared.withLock { $0.machine.received } }
  /// The size of the body to receive; -1 if it is unknown.
  public var countOfBytesExpectedToReceive: Int64 { shared.withLock { $0.machine.expectedToReceive } }
  /// The identifier of the task in the service, such as `tsk_…`; `nil` before its creation there. Ferry's own addition.
  public var id: String? { shared.withLock { $0.id } }

  var hasResumeData: Bool { shared.withLock { $0.hasResumeData } }

  /// The state.
  public var state: State {
    switch shared.withLock({ $0.machine.state }) {
    case .running: .running
    case .suspended: .suspended
    case .canceling: .canceling
    case .completed: .completed
    }
  }

  /// The task's own delegate. It comes before the session's. Set it before `resume()`.
  public var delegate: (any FerrySessionTaskDelegate)? {
    get { shared.withLock { $0.delegate } }
    set { shared.withLock { if !$0.machine.isCreated { $0.delegate = newValue } } }
  }

  /// Starts or continues the task. A suspended task needs one call for each call of `suspend()`.
  public func resume() { apply(.resume) }

  /// Suspends the task. Calls nest.
  public func suspend() { apply(.suspend) }

  /// Cancels the task, which then ends with `FerryError.cancelled`.
  public func cancel() { apply(.cancel(producingResumeData: false)) }

  /// Cancels the task, and passes the bytes from which it can be resumed.
  func cancelProducingResumeData(_ handler: @escaping @Sendable (Data?) -> Void) {
    let isRunning = shared.withLock { shared in
      guard shared.machine.isCreated, shared.machine.state != .completed, shared.machine.state != .canceling
      else { return false }
      shared.cancelHandlers.append(handler)
      return true
    }
    guard isRunning else {
      session.delegateQueue.addOperation { handler(nil) }
      return cancel()
    }
    apply(.cancel(producingResumeData: true))
  }

  func cancelProducingResumeData() async -> Data? {
    await withCheckedContinuation { continuation in
      cancelProducingResumeData { continuation.resume(returning: $0) }
    }
  }

  /// Waits until the service has stored the task, and returns its identifier there. From then on, the task needs this program only for
  /// its delegate. Ferry's own addition.
  /// - Throws: the error of a task that ended before.
  public func identifierInService() async throws -> String {
    let waiter = Waiter()
    let isWaiting = shared.withLock { shared in
      guard shared.id == nil, shared.machine.state != .completed else { return false }
      shared.onCreation.append(waiter)
      return true
    }
    if isWaiting { await waiter.wait() }
    guard let id else { throw error ?? FerryError(.unknown) }
    return id
  }

  /// The service has stored the task.
  func didCreate(_ id: String) {
    let waiters = shared.withLock { shared in
      defer { (shared.id, shared.onCreation) = (id, []) }
      return shared.onCreation
    }
    for waiter in waiters { waiter.resume() }
  }

  /// Waits for the end.
  func end() async {
    let waiter = Waiter()
    let isWaiting = shared.withLock { shared in
      guard shared.machine.state != .completed else { return false }
      shared.waiters.append(waiter)
      return true
    }
    if isWaiting { await waiter.wait() }
  }

  /// Whether both are the same object.
  public static func == (left: FerrySessionTask, right: FerrySessionTask) -> Bool { left === right }
  /// Hashes the identity.
  public func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}

/// A task whose response the delegate or a completion handler receives. `URLSessionDataTask` in Apple's URLSession.
public class FerrySessionDataTask: FerrySessionTask, @unchecked Sendable {}

/// A task that sends a body. `URLSessionUploadTask` in Apple's URLSession.
public final class FerrySessionUploadTask: FerrySessionDataTask, @unchecked Sendable {
  /// Cancels the upload. The handler receives the data from which it can continue, or `nil`.
  public func cancel(byProducingResumeData completionHandler: @escaping @Sendable (Data?) -> Void) {
    cancelProducingResumeData(completionHandler)
  }

  /// Cancels the upload, and returns the data from which it can continue; `nil` if there is none.
  public func cancelByProducingResumeData() async -> Data? { await cancelProducingResumeData() }
}

/// A task whose response becomes a file. `URLSessionDownloadTask` in Apple's URLSession.
public final class FerrySessionDownloadTask: FerrySessionTask, @unchecked Sendable {
  /// Cancels the download. The handler receives the bytes from which it can be resumed, or `nil`.
  public func cancel(byProducingResumeData completionHandler: @escaping @Sendable (Data?) -> Void) {
    cancelProducingResumeData(completionHandler)
  }

  /// Cancels the download, and returns the bytes from which it can be resumed; `nil` if there are none.
  public func cancelByProducingResumeData() async -> Data? { await cancelProducingResumeData() }
}

/// The values that a task begins with.
struct TaskSeed: Sendable {
  var identifier: Int
  var request: FerryRequest?
  var source = FerrySessionTask.Source.none
  var handler = FerrySessionTask.Handler.none
  var machine: TaskCallMachine
  var id: String?
  var resumeData: String?
}

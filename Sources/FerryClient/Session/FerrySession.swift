internal import JSON
internal import Synchronization

/// A session. `URLSession` in Apple's URLSession. The tasks run in a Ferry service.
///
/// The session keeps its delegate until the session is invalid. The service keeps a session until it is invalid, so
/// invalidate each session that is no longer needed.
public final class FerrySession: Sendable {
  /// The answer to a challenge.
  public enum AuthChallengeDisposition: String, Sendable, CaseIterable {
    case useCredential, performDefaultHandling, cancelAuthenticationChallenge, rejectProtectionSpace
  }
  /// The answer to a response.
  public enum ResponseDisposition: String, Sendable, CaseIterable { case cancel, allow, becomeDownload }
  /// The answer to a delayed request.
  public enum DelayedRequestDisposition: String, Sendable, CaseIterable {
    case continueLoading, useNewRequest, cancel
  }

  struct State {
    var delegate: (any FerrySessionDelegate)?
    var description: String?
    var nextIdentifier = 1
    /// The tasks that have not ended.
    var tasks: [Int: FerrySessionTask] = [:]
    var byID: [String: FerrySessionTask] = [:]
    /// Creations without a reply yet, and the events of tasks that may be theirs.
    var creations = 0
    var early: [String: [(type: String, data: JSONValue)]] = [:]
    var start: Task<SessionService, any Error>?
    var events: Task<Void, Never>?
    /// The service has reported the end of all events of a background session.
    var hasFinishedEvents = false
    /// The number of tasks that have ended since the delegate's last call about that.
    var endsSinceFinish = 0
    /// The mode of the invalidation, after the program's call.
    var invalidation: String?
    var isInvalid = false
  }

  let settings: FerrySessionConfiguration.Values
  /// The queue of the delegate's calls and the completion handlers.
  public let delegateQueue: FerryDelegateQueue
  let isShared: Bool
  let state: Mutex<State>

  /// The session of the tenant, without a delegate. It uses the service of `FerryServer.environment`, and cannot be invalidated.
  public static let shared = FerrySession(FerrySessionConfiguration.default.all, nil, nil, isShared: true)

  /// Creates a session without a delegate.
  public convenience init(configuration: FerrySessionConfiguration) {
    self.init(configuration: configuration, delegate: nil, delegateQueue: nil)
  }

  /// Creates a session.
  /// - Parameters:
  ///   - configuration: It is copied.
  ///   - delegate: The receiver of the events; the session keeps it until the session is invalid.
  ///   - delegateQueue: The queue of the delegate's calls; `nil` for a queue of the session's own.
  public convenience init(
    configuration: FerrySessionConfiguration, delegate: (any FerrySessionDelegate)?,
    delegateQueue: FerryDelegateQueue?
  ) {
    self.init(configuration.all, delegate, delegateQueue, isShared: false)
    // The tasks of an earlier run have waited for their delegate.
    if isBackground { Task { _ = try? await started() } }
  }

  private init(
    _ settings: FerrySessionConfiguration.Values, _ delegate: (any FerrySessionDelegate)?,
    _ queue: FerryDelegateQueue?, isShared: Bool
  ) {
    self.settings = settings
    delegateQueue = queue ?? FerryDelegateQueue()
    self.isShared = isShared
    state = Mutex(State(delegate: delegate))
  }

  /// A copy of the configuration.
  public var configuration: FerrySessionConfiguration { FerrySessionConfiguration(settings) }
  /// The delegate; `nil` after the session has become invalid.
  public var delegate: (any FerrySessionDelegate)? { state.withLock { $0.delegate } }
  /// A description for people. Set it before the first task.
  public var sessionDescription: String? {
    get { state.withLock { $0.description } }
    set { state.withLock { $0.description = newValue } }
  }
  var isBackground: Bool { settings.identifier != nil }

  // MARK: Tasks

  /// The tasks that have not ended.
  public var allTasks: [FerrySessionTask] {
    get async {
      // The service has the tasks of earlier runs.
      if isBackground { _ = try? await started() }
      return state.withLock { $0.tasks.values.sorted { $0.taskIdentifier < $1.taskIdentifier } }
    }
  }

  /// The data, upload and download tasks that have not ended.
  public var tasks: ([FerrySessionDataTask], [FerrySessionUploadTask], [FerrySessionDownloadTask]) {
    get async {
      let all = await allTasks
      let uploads = all.compactMap { $0 as? FerrySessionUploadTask }
      let data = all.compactMap { $0 is FerrySessionUploadTask ? nil : $0 as? FerrySessionDataTask }
      return (data, uploads, all.compactMap { $0 as? FerrySessionDownloadTask })
    }
  }

  /// Passes the tasks that have not ended.
  public func getAllTasks(completionHandler: @escaping @Sendable ([FerrySessionTask]) -> Void) {
    Task {
      let tasks = await allTasks
      delegateQueue.addOperation { completionHandler(tasks) }
    }
  }

  /// Passes the data, upload and download tasks that have not ended.
  public func getTasksWithCompletionHandler(
    _ completionHandler:
      @escaping @Sendable (
        [FerrySessionDataTask], [FerrySessionUploadTask], [FerrySessionDownloadTask]
      ) -> Void
  ) {
    Task {
      let (data, uploads, downloads) = await tasks
      delegateQueue.addOperation { completionHandler(data, uploads, downloads) }
    }
  }

  // MARK: Storage

  /// Empties the cookies, the cache and the credentials. Later requests use new connections.
  public func reset() async { await command("reset") }
  /// Empties the cookies, the cache and the credentials, and then calls the handler.
  public func reset(completionHandler: @escaping @Sendable () -> Void) {
    Task {
      await reset()
      delegateQueue.addOperation(completionHandler)
    }
  }
  /// Writes cookies and credentials to the service's disk, and closes idle connections.
  public func flush() async { await command("flush") }
  /// Writes cookies and credentials to the service's disk, and then calls the handler.
  public func flush(completionHandler: @escaping @Sendable () -> Void) {
    Task {
      await flush()
      delegateQueue.addOperation(completionHandler)
    }
  }

  private func command(_ verb: String) async {
    // The service does not know a session without tasks, so the session has nothing to empty or write.
    let isKnown = state.withLock { !$0.isInvalid && ($0.start != nil || isShared || isBackground) }
    guard isKnown, let service = try? await started() else { return }
    _ = try? await service.post("/v1/sessions/\(service.id)/\(verb)")
  }

  // MARK: End

  /// Invalidates the session when all its tasks have ended. It has no effect on `shared`.
  public func finishTasksAndInvalidate() { invalidate("finishTasks") }

  /// Cancels all tasks and ends the session. It has no effect on `shared`.
  public func invalidateAndCancel() {
    invalidate("cancelTasks")
    guard !isShared else { return }
    for task in state.withLock({ Array($0.tasks.values) }) { task.cancel() }
  }

  private func invalidate(_ mode: String) {
    guard !isShared else { return }
    state.withLock { state in if state.invalidation != "cancelTasks" { state.invalidation = mode } }
    endIfUnused()
  }

  /// Ends the session in the service when its last task has ended.
  func endIfUnused() {
    let (mode, isStarted) = state.withLock { state in
      guard state.tasks.isEmpty, !state.isInvalid else { return (String?.none, false) }
      return (state.invalidation, state.start != nil)
    }
    guard let mode else { return }
    guard isStarted else { return becomeInvalid(nil) }
    Task {
      do throws(FerryError) {
        let service = try await started()
        _ = try await service.post("/v1/sessions/\(service.id)/invalidate") { $0.field("mode", mode) }
      } catch { becomeInvalid(error.code == .serviceRefused ? nil : error) }
    }
  }

  /// Makes the last call of the delegate.
  func becomeInvalid(_ error: FerryError?) {
    let (isFirst, events) = state.withLock { state in
      defer { state.isInvalid = true }
      return (!state.isInvalid, state.events)
    }
    guard isFirst else { return }
    events?.cancel()
    delegateQueue.addOperation { [self] in
      delegate?.urlSession(self, didBecomeInvalidWithError: error)
      state.withLock { $0.delegate = nil }
    }
  }
}

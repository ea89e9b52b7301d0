package import BlobStore
internal import DequeModule
package import EngineAPI
package import HTTPCache
internal import SimulatedStores
package import TransferCore
package import TransferModel
package import TransferService

/// The origins and their behaviour. They outlive every process. For one thread.
package final class SimulatedOrigins: @unchecked Sendable {
  /// The probability of each event, per mille, at each of its opportunities.
  package struct Probabilities: Sendable {
    package var waits = 0
    package var informs = 0
    package var challenges = 0
    package var handshakes = 0
    /// How often an attempt ends during a decision.
    package var breaksOff = 0
    package var redirects = 0
    package var progresses = 100
    package var fails = 0
    package var isBusy = 0
    package var answersTwice = 0
    package var authenticates = 0
    package init() {}
  }
  package var temper = Probabilities()
  /// The number of requests that were sent, by task. Only methods that are not idempotent are counted.
  package var unsafeRequests: [TaskID: Int] = [:]
  /// Receives violations.
  package var fault: (@Sendable (Invariant, String) -> Void)?

  package init() {}

  func note(_ invariant: Invariant, _ text: String) { fault?(invariant, text) }
}

/// A stand-in for the engine of a process, by the engine's contract. Each attempt sends requests, waits for at most one decision at a time,
/// and reports one end, last. Commands are received later and in order, as by the engine's mailbox. For one thread.
package final class SimulatedEngine: KillableEngine, @unchecked Sendable {
  enum Order {
    case submit(TransferJob)
    case command(TaskCommand, TaskID)
  }

  package let storages = SessionStorageLoader()
  package let memoryFiles = MemoryFiles(capacity: 1 << 20)
  package let caches: CacheStorage? = nil
  private let origins: SimulatedOrigins
  private let blobs: any BlobStore
  /// The same blobs, as the engine's process sees them.
  private let shownBlobs: SlowBlobs
  private let relay: FactCallback
  /// Receives each attempt that begins and is not about to be cancelled.
  private let begins: (TransferJob) -> Void
  private let now: @Sendable () -> Timestamp
  private var mailbox = Deque<Order>()
  private var attempts: [Attempt] = []
  /// The number of connections of each session, including those of suspended attempts.
  private var connections: [SessionID: Int] = [:]
  package var isDead = false {
    didSet { if isDead { shownBlobs.close() } }
  }

  package init(
    _ origins: SimulatedOrigins, _ surroundings: SharedEnvironment, _ relay: FactCallback,
    now: @escaping @Sendable () -> Timestamp, begins: @escaping (TransferJob) -> Void
  ) {
    self.begins = begins
    (self.origins, blobs, self.relay, self.now) = (origins, surroundings.blobs, relay, now)
    shownBlobs = SlowBlobs(blobs, surroundings.answersBlobs)
  }

  /// Whether the engine can make a step.
  package var canStep: Bool { !isDead && (!mailbox.isEmpty || attempts.contains { goesOn($0) }) }
  /// The number of attempts that have not ended.
  package var count: Int { attempts.count + mailbox.count { if case .submit = $0 { true } else { false } } }

  /// Receives one command, or lets one attempt report a fact.
  package func step(_ random: inout RandomSource) {
    guard !isDead else { return }
    if origins.temper.breaksOff > 0, random.chance(origins.temper.breaksOff), breakOff(nil, &random) {
      return
    }
    let ready = attempts.indices.filter { goesOn(attempts[$0]) }
    guard !ready.isEmpty, mailbox.isEmpty || random.chance(400) else { return hear() }
    let index = ready[random.below(ready.count)]
    var attempt = attempts[index]
    let wasConnected = attempt.isConnected
    let fact = attempt.next(origins.temper, &random, at: now())
    if !wasConnected, attempt.isConnected { connections[attempt.job.session, default: 0] += 1 }
    if case .began = fact, !attempt.hasCounted, !attempt.job.request.isIdempotent {
      attempt.hasCounted = true
      origins.unsafeRequests[attempt.job.task, default: 0] += 1
    }
    if case .began = fact, !willCancel(attempt.job.task) { begins(attempt.job) }
    if case .ended = fact {
      attempt.letGo()
      remove(at: index)
    } else {
      attempts[index] = attempt
    }
    relay.deliver([fact])
  }

  private func willCancel(_ task: TaskID) -> Bool {
    mailbox.contains { if case .command(.cancel, task) = $0 { true } else { false } }
  }

  /// Returns whether an attempt can make a step. A session opens a limited number of connections
  /// (URLSessionConfiguration.httpMaximumConnectionsPerHost).
  private func goesOn(_ attempt: Attempt) -> Bool {
    guard attempt.goesOn else { return false }
    return !attempt.waitsForConnection
      || connections[attempt.job.session, default: 0]
        < attempt.job.sharedConfiguration.value.httpMaximumConnectionsPerHost
  }

  @discardableResult
  private func remove(at index: Int) -> Attempt {
    let attempt = attempts.remove(at: index)
    if attempt.isConnected { connections[attempt.job.session, default: 0] -= 1 }
    return attempt
  }

  /// Ends an attempt that waits for a decision.
  /// - Parameter task: the task; `nil` for any.
  /// - Returns: `false` if no such attempt exists.
  @discardableResult
  func breakOff(_ task: TaskID?, _ random: inout RandomSource) -> Bool {
    let asking = attempts.indices.filter { index in
      attempts[index].asks && task.map { $0 == attempts[index].job.task } ?? true
    }
    guard !isDead, let index = random.pick(asking) else { return false }
    var attempt = remove(at: index)
    attempt.letGo()
    relay.deliver([attempt.breakOff(&random, at: now())])
    return true
  }

  /// Returns whether an attempt of the task writes a file.
  func isWriting(_ task: TaskID) -> Bool { attempts.contains { $0.job.task == task && $0.isWriting } }

  private func hear() {
    guard let order = mailbox.popFirst() else { return }
    func change(_ id: TaskID, _ body: (inout Attempt) -> Void) {
      if let index = attempts.firstIndex(where: { $0.job.task == id }) { body(&attempts[index]) }
    }
    switch order {
    case .submit(let job):
      if attempts.contains(where: { $0.job.task == job.task }) {
        origins.note(.submittedOnce, "\(job.task) was submitted twice to the same engine")
      }
      attempts.append(Attempt(job, in: bodies(of: job.session, job.sessionType, blobs)))
    case .command(.suspend, let id): change(id) { $0.isSuspended = true }
    case .command(.resume, let id): change(id) { $0.isSuspended = false }
    case .command(.cancel(let keeps), let id): change(id) { $0.cancel(keepsPartial: keeps) }
    case .command(.answer(let answer, let number), let id):
      var isLate = true
      change(id) { attempt in
        guard attempt.question == number else { return }
        isLate = false
        if !attempt.take(answer) {
          origins.note(.answersItsQuestion, "\(answer) does not fit the pending decision of \(id)")
        }
      }
      // A client that still sends the body is notified that it is not needed.
      if isLate, case .bodyStream(let body) = answer { (body.token as? UploadStream)?.cancel() }
    case .command: break
    }
  }
}

extension SimulatedEngine {
  package func submit(_ jobs: [TransferJob]) { for job in jobs { mailbox.append(.submit(job)) } }
  package func perform(_ command: TaskCommand, on task: TaskID, in session: SessionID) {
    switch command {
    case .setPriority, .setLimit, .setBeginDate, .changeRequest, .retryNow: break
    case .suspend, .resume, .cancel, .answer: mailbox.append(.command(command, task))
    }
  }
  package func reset(_ session: SessionID, done: @escaping @Sendable () -> Void) { done() }
  package func flush(_ session: SessionID, done: @escaping @Sendable () -> Void) { done() }
  package func releaseSession(_ session: SessionID) {}
  package func forgetCredentials(of session: SessionID, for spaces: [ProtectionSpace]) {}
  package func cache(of session: TransferSession) -> ResponseCache? { nil }
  package func bodies(of session: SessionID, _ type: SessionType) -> any BlobStore {
    bodies(of: session, type, shownBlobs)
  }
  private func bodies(of session: SessionID, _ type: SessionType, _ durable: any BlobStore) -> any BlobStore {
    type == .ephemeral ? SessionBlobs(memoryFiles, of: session) : durable
  }
  package func liveBody(of task: TaskID, in session: SessionID) -> LiveBody? { nil }
  package func probe(_ url: String, timeout: Duration) async throws(TransferError) -> Reachability {
    throw TransferError(.cannotConnectToHost, "there is no network")
  }
  package func onPool(_ work: @escaping @Sendable () -> Void) { work() }
  package func ping(_ done: @escaping @Sendable () -> Void) { done() }
}

extension RandomSource {
  /// Returns a number from 0 to less than `count`.
  mutating func below(_ count: Int) -> Int { Int(next() >> 33) % count }
  /// - Parameter perMille: the probability, per mille.
  mutating func chance(_ perMille: Int) -> Bool { below(1000) < perMille }
  mutating func pick<Element>(_ all: [Element]) -> Element? { all.isEmpty ? nil : all[below(all.count)] }
}

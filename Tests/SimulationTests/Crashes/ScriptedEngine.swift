import BlobStore
import EngineAPI
import HTTPCache
import HTTPFields
import Simulation
import Synchronization
import TransferModel

@testable import TransferService

/// A stand-in for an engine. For each task it reports the facts of the script for the URL, one fact at each step of the world. It dies with
/// its process. For one thread.
final class ScriptedEngine: KillableEngine, @unchecked Sendable {
  /// A step of a transfer.
  enum ScriptStep: Sendable {
    case fact(@Sendable (TransferJob, Timestamp) -> TransferFact)
    /// The transfer waits for an answer, which determines the further steps.
    case ask(TransferQuestion, then: @Sendable (TransferAnswer, TransferJob) -> [ScriptStep])
    case end(URLErrorCode?, status: Int?, body: [UInt8]?)
  }
  private struct Run: Sendable {
    var job: TransferJob
    var beats: [ScriptStep]
    var isSuspended = false
    /// The decision that the transfer waits for.
    var question: (number: Int, then: @Sendable (TransferAnswer, TransferJob) -> [ScriptStep])?
    var questions: Int
    var hasBegun = false
    var received: Int64 = 0
  }

  let storages = SessionStorageLoader()
  let memoryFiles = MemoryFiles(capacity: 1 << 20)
  let caches: CacheStorage? = nil
  private let origin: ScriptedOrigin
  private let relay: FactCallback
  private let now: @Sendable () -> Timestamp
  private var runs: [TaskID: Run] = [:]
  private var order: [TaskID] = []
  /// Whether the process is dead, so that the engine reports nothing more.
  var isDead = false

  init(_ origin: ScriptedOrigin, _ relay: FactCallback, now: @escaping @Sendable () -> Timestamp) {
    self.origin = origin
    self.relay = relay
    self.now = now
  }

  /// Reports the next fact of a task. Returns `false` if there is none.
  func step() -> Bool {
    guard !isDead,
      let id = order.first(where: { id in
        runs[id].map { !$0.isSuspended && $0.question == nil && !$0.beats.isEmpty } ?? false
      }), var run = runs[id]
    else { return false }
    // The tasks take turns.
    order.removeAll { $0 == id }
    order.append(id)
    let fact = Self.play(run.beats.removeFirst(), &run, now())
    if case .began(let task, _) = fact {
      if !run.hasBegun { origin.noteBegin(of: task, run.job.request) }
      run.hasBegun = true
    }
    if case .ended = fact {
      runs[id] = nil
      order.removeAll { $0 == id }
    } else {
      runs[id] = run
    }
    relay.deliver([fact])
    return true
  }

  private static func play(_ beat: ScriptStep, _ run: inout Run, _ time: Timestamp) -> TransferFact {
    switch beat {
    case .fact(let make):
      let fact = make(run.job, time)
      if case .progress(_, let progress, _) = fact { run.received = progress.countOfBytesReceived }
      return fact
    case .ask(let question, let then):
      run.questions += 1
      run.question = (run.questions, then)
      return .asked(run.job.task, run.questions, question, at: time)
    case .end(let error, let status, let body):
      return .ended(run.job.task, outcome(of: run, error, status, body, time))
    }
  }

  private static func outcome(
    of run: Run, _ code: URLErrorCode?, _ status: Int?, _ body: [UInt8]?, _ time: Timestamp
  ) -> TransferOutcome {
    var transaction = TransactionMetrics()
    if run.hasBegun { transaction.requestStart = time }
    var progress = TaskProgress()
    progress.countOfBytesReceived = Int64(body?.count ?? 0)
    var outcome = TransferOutcome(
      error: code.map { TransferError($0, "as the script has it", failingURL: run.job.request.url) },
      currentRequest: run.job.request, response: status.map { ScriptedOrigin.response($0, run.job.request) },
      progress: progress, transactions: [transaction], endedAt: time)
    if let body {
      outcome.body = .memory(body)
      (outcome.size, outcome.sha256) = (Int64(body.count), "ab")
    }
    return outcome
  }

  // MARK: Commands

  func submit(_ jobs: [TransferJob]) {
    guard !isDead else { return }
    for job in jobs {
      origin.noteSubmission(of: job, isKnown: runs[job.task] != nil)
      order.append(job.task)
      runs[job.task] = Run(job: job, beats: origin.beats(for: job), questions: job.decisionCount)
    }
  }

  func perform(_ command: TaskCommand, on task: TaskID, in session: SessionID) {
    switch command {
    case .suspend: runs[task]?.isSuspended = true
    case .resume: runs[task]?.isSuspended = false
    case .cancel(let keepsPartial): cancel(task, keepsPartial: keepsPartial)
    case .answer(let answer, let question): self.answer(task, to: question, answer)
    case .setPriority, .setLimit, .setBeginDate, .changeRequest, .retryNow: break
    }
  }

  private func cancel(_ task: TaskID, keepsPartial: Bool) {
    guard let run = runs[task] else { return }
    runs[task]?.question = nil
    runs[task]?.isSuspended = false
    let keeps = keepsPartial && run.job.kind == .download && run.received > 0
    runs[task]?.beats = [
      .fact { job, time in
        var outcome = Self.outcome(of: run, .cancelled, nil, nil, time)
        if keeps {
          let partial = PartialBody(offset: run.received, total: 100, validator: "\"v\"")
          outcome.partial = ResumePoint(partial: partial, source: task)
          outcome.error?.resumeDataAvailable = true
        }
        return .ended(job.task, outcome)
      }
    ]
  }

  private func answer(_ task: TaskID, to question: Int, _ answer: TransferAnswer) {
    guard let run = runs[task], let asked = run.question, asked.number == question else { return }
    runs[task]?.question = nil
    guard case .becomeDownload(let download) = answer else {
      runs[task]?.beats = asked.then(answer, run.job)
      if case .redirect(let request?) = answer { runs[task]?.job.request = request }
      return
    }
    var other = run
    (other.job.task, other.job.kind, other.question) = (download, .download, nil)
    other.beats = asked.then(answer, other.job)
    runs[task] = nil
    runs[download] = other
    order = order.map { $0 == task ? download : $0 }
  }

  func reset(_ session: SessionID, done: @escaping @Sendable () -> Void) { done() }
  func flush(_ session: SessionID, done: @escaping @Sendable () -> Void) { done() }
  func releaseSession(_ session: SessionID) {}
  func forgetCredentials(of session: SessionID, for spaces: [ProtectionSpace]) {}
  func cache(of session: TransferSession) -> ResponseCache? { nil }
  func bodies(of session: SessionID, _ type: SessionType) -> any BlobStore {
    SessionBlobs(memoryFiles, of: session)
  }
  func liveBody(of task: TaskID, in session: SessionID) -> LiveBody? { nil }
  func probe(_ url: String, timeout: Duration) async throws(TransferError) -> Reachability {
    throw TransferError(.cannotConnectToHost, "there is no network")
  }
  func onPool(_ work: @escaping @Sendable () -> Void) { work() }
  func ping(_ done: @escaping @Sendable () -> Void) { done() }
}

/// The origins. They outlive every process. For one thread.
final class ScriptedOrigin: @unchecked Sendable {
  typealias ScriptStep = ScriptedEngine.ScriptStep

  /// Returns the steps of a request for a URL. The number is that of earlier requests.
  var script: @Sendable (TransferJob, Int) -> [ScriptStep] = { _, _ in ScriptedOrigin.plain }
  /// The number of submissions to an engine, by task.
  private(set) var submissions: [TaskID: Int] = [:]
  /// The number of requests that were sent, by task. Only methods that are not idempotent are counted.
  private(set) var unsafeRequests: [TaskID: Int] = [:]
  private(set) var faults: [String] = []
  private var countOfURL: [String: Int] = [:]

  func noteSubmission(of job: TransferJob, isKnown: Bool) {
    submissions[job.task, default: 0] += 1
    if isKnown { faults.append("\(job.task) was submitted twice to the same engine") }
  }

  func noteBegin(of task: TaskID, _ request: TransferRequest) {
    if !request.isIdempotent { unsafeRequests[task, default: 0] += 1 }
  }

  func beats(for job: TransferJob) -> [ScriptStep] {
    defer { countOfURL[job.originalURL, default: 0] += 1 }
    return script(job, countOfURL[job.originalURL] ?? 0)
  }

  static func response(_ status: Int, _ request: TransferRequest) -> TransferResponse {
    TransferResponse(
      url: request.url, status: status, headers: HTTPHeaders(), expectedContentLength: 3,
      httpVersion: "HTTP/1.1")
  }

  // MARK: Steps

  static let began = ScriptStep.fact { .began($0.task, at: $1) }
  static let head = ScriptStep.fact { job, time in
    let answer = response(200, job.request)
    return job.kind == .download
      ? .accepted(job.task, answer) : .response(job.task, answer, BodyReference(nil), at: time)
  }
  static func progress(_ bytes: Int64) -> ScriptStep {
    .fact { job, time in
      var progress = TaskProgress()
      progress.countOfBytesReceived = bytes
      return .progress(job.task, progress, at: time)
    }
  }
  static let keeps = ScriptStep.fact { job, _ in
    .keptPartial(
      job.task,
      ResumePoint(partial: PartialBody(offset: 0, total: 100, validator: "\"v\""), source: job.task))
  }
  static let end = ScriptStep.end(nil, status: 200, body: [1, 2, 3])
  static let plain = [began, head, progress(3), end]
  static let download = [began, keeps, head, progress(3), progress(50), end]
}

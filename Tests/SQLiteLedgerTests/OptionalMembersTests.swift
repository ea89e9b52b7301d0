import Ledger
import Records
import TestSupport
import Testing
import TransferModel

@testable import SQLiteLedger

/// Members that are written only if they differ from their defaults, so that the first golden document of a kind lacks them.
@Suite(.serialized) struct OptionalMembersTests {
  private let samples = GoldenSamples()

  private func storeAndRead(_ changes: [LedgerChange]) async throws -> SQLiteLedger {
    let path = TemporaryDirectory.make("ferry-later") + "/test.db"
    let first = try SQLiteLedger(path: path, box: GoldenSamples.box) { _ in }
    for change in changes { try await first.write(change) }
    await first.close()
    return try SQLiteLedger(path: path, box: GoldenSamples.box) { _ in }
  }

  private var configuration: SessionConfiguration {
    var configuration = samples.configuration
    configuration.networkServiceType = .voice
    return configuration
  }

  private var session: TransferSession {
    TransferSession(
      id: samples.session.id, createdAt: GoldenSamples.time, description: nil, configuration: configuration,
      delegate: nil)
  }

  private var named: NamedConfiguration {
    NamedConfiguration(
      name: ConfigurationName(tenant: .default, text: "later"), configuration: configuration,
      createdAt: GoldenSamples.time,
      updatedAt: GoldenSamples.time)
  }

  private var task: TransferTask {
    var request = samples.request
    request.networkServiceType = .responsiveData
    var specification = TaskSpecification(kind: .data, request: request)
    specification.preferences.countOfBytesClientExpectsToSend = 0
    specification.preferences.countOfBytesClientExpectsToReceive = 1 << 40
    specification.preferences.prefersIncrementalDelivery = false
    var delegate = SessionDelegate()
    (delegate.asksForRedirects, delegate.decisionTimeout) = (true, 7)
    delegate.webhook = Webhook(url: "http://a.test/task", secret: "whsec_x")
    delegate.events = [.taskDidCreate]
    // A delegate without a rule for responses differs from one that allows them.
    specification.preferences.delegate = TaskDelegate(delegate, given: [.redirects, .webhook, .caching])
    specification.isDiscretionary = true
    specification.resumePoint = .upload(
      UploadPoint(resource: "http://a.test/uploads/1", source: GoldenSamples.id(9)))
    var task = TransferTask(
      id: samples.task.id, sessionID: session.id, taskIdentifier: 1, createdAt: GoldenSamples.time,
      specification: specification)
    task.currentRequest.networkServiceType = .background
    _ = task.lifecycle.resume()
    task.activity = .waitingToRetry
    task.hasWaitedForConnectivity = true
    task.firstAttempt = .submitted
    task.currentRequest.body = .file(GoldenSamples.id(8), size: 1 << 40)
    task.error = TransferError(.destinationNotPermitted, "no", failingURL: "http://a", rule: "loopback")
    return task
  }

  /// The documents with these members, by column.
  private var documents: [String: [UInt8]] {
    [
      "session.document": session.document, "configuration.document": Document.write(named.configuration),
      "task.specification": task.specificationDocument, "task.outcome": task.outcomeDocument,
    ]
  }

  /// A task with a stamped body and stamped resume data.
  private var stamped: TransferTask {
    var ended = task
    _ = ended.lifecycle.complete()
    let stamp = BlobStamp(epoch: 1 << 40, attempt: 12)
    ended.partial = ResumePoint(
      partial: PartialBody(offset: 4, total: 5, validator: "v"), source: ended.id, blob: stamp)
    ended.body = TaskBody(size: 5, sha256: "ab", expiresAt: GoldenSamples.time, blob: stamp)
    ended.didReportResumeOffset = true
    return ended
  }

  @Test func `stamps of a body and of resume data are stored`() async throws {
    try GoldenFiles.expect(
      stamped.outcomeDocument, is: "store/1/task.outcome.stamped")
    var change = LedgerChange()
    change.sessions = [session]
    change.createdTasks = [task]
    change.updatedTasks = [stamped]
    let store = try await storeAndRead([change])
    let found = try await store.task(task.id)
    #expect(found?.bodyKey == stamped.bodyKey && found?.partialKey == stamped.partialKey)
    #expect(found?.bodyKey.stamp == BlobStamp(epoch: 1 << 40, attempt: 12))
    await store.close()
  }

  /// A task that waits for another attempt.
  private var retrying: TransferTask {
    var waiting = task
    var error = TransferError(
      .badServerResponse, "the origin answered with status 503", failingURL: "http://a/")
    error.status = 503
    waiting.retryWait = RetryWait(lastError: error, nextAttemptAt: GoldenSamples.time.adding(seconds: 9))
    return waiting
  }

  @Test func `reason and time of a retry are stored`() async throws {
    try GoldenFiles.expect(
      retrying.outcomeDocument, is: "store/1/task.outcome.retrying")
    var change = LedgerChange()
    (change.sessions, change.createdTasks, change.updatedTasks) = ([session], [task], [retrying])
    let store = try await storeAndRead([change])
    #expect(try await store.task(task.id)?.shownRetryWait == retrying.retryWait)
    await store.close()
  }

  /// A task with a group and labels.
  private var grouped: TransferTask {
    var specification = TaskSpecification(kind: .data, request: samples.request)
    specification.preferences.group = "import-2026-11"
    specification.preferences.labels = [
      TaskLabel(key: "a", value: ""), TaskLabel(key: "customer", value: "17"),
    ]
    return TransferTask(
      id: samples.task.id, sessionID: session.id, taskIdentifier: 1, createdAt: GoldenSamples.time,
      specification: specification)
  }

  @Test func `group and labels are stored`() async throws {
    try GoldenFiles.expect(grouped.specificationDocument, is: "store/1/task.specification.grouped")
    var change = LedgerChange()
    (change.sessions, change.createdTasks) = ([session], [grouped])
    let store = try await storeAndRead([change])
    let found = try await store.task(grouped.id)
    #expect(found?.group == grouped.group && found?.labels == grouped.labels)
  }

  /// A task with requirements and retries, whose first attempt is running.
  private var attempted: TransferTask {
    var specification = TaskSpecification(kind: .download, request: samples.request)
    specification.preferences.requirements.failsOnStatus = true
    specification.preferences.requirements.expected = ExpectedBody(size: 5, sha256: "ab")
    specification.preferences.retry = RetryConfiguration()
    specification.preferences.retry?.statuses = [429, 500]
    specification.preferences.retryOf = GoldenSamples.id(7)
    var task = TransferTask(
      id: samples.task.id, sessionID: session.id, taskIdentifier: 1, createdAt: GoldenSamples.time,
      specification: specification)
    _ = task.lifecycle.resume()
    var progress = RetryProgress()
    (progress.attempts, progress.failures, progress.furthest) = (3, 2, 9)
    (progress.isActive, progress.deaths, progress.delay) = (true, 1, 0.5)
    (progress.startedAt, progress.suspendedAt) = (GoldenSamples.time, GoldenSamples.time)
    progress.request = TransferRequest(url: "http://a.test/signed")
    task.retryProgress = progress
    return task
  }

  @Test func `requirements and attempts are stored`() async throws {
    try GoldenFiles.expect(attempted.specificationDocument, is: "store/1/task.specification.requirements")
    try GoldenFiles.expect(attempted.outcomeDocument, is: "store/1/task.outcome.attempts")
    var change = LedgerChange()
    (change.sessions, change.createdTasks, change.updatedTasks) = ([session], [attempted], [attempted])
    let store = try await storeAndRead([change])
    let found = try await store.task(attempted.id)
    // An earlier version stored the changed request there.
    var progress = attempted.retryProgress
    #expect(found?.startRequest?.request == progress?.request && found?.startRequest?.changes == 0)
    progress?.request = nil
    #expect(found?.retryProgress == progress && found?.preferences == attempted.preferences)
    await store.close()
  }

  @Test func `changed request is stored`() async throws {
    var task = attempted
    task.retryProgress = nil
    task.apply(
      RequestChange(
        url: "http://a.test/new", headers: samples.request.headers,
        credential: Credential(user: "u", password: "p", persistence: .none)))
    try GoldenFiles.expect(task.outcomeDocument, is: "store/1/task.outcome.changed")
    var change = LedgerChange()
    (change.sessions, change.createdTasks, change.updatedTasks) = ([session], [task], [task])
    let store = try await storeAndRead([change])
    let found = try await store.task(task.id)
    #expect(found?.startRequest == task.startRequest && found?.currentRequest == task.currentRequest)
    await store.close()
  }

  @Test func `optional members are written as in the golden documents`() throws {
    for (name, bytes) in documents.sorted(by: { $0.key < $1.key }) {
      try GoldenFiles.expect(bytes, is: "store/1/\(name).more")
    }
  }

  @Test func `optional members are read as they were written`() async throws {
    let (session, named, task) = (session, named, task)
    var change = LedgerChange()
    (change.sessions, change.configurations, change.createdTasks) = ([session], [named], [task])
    var second = LedgerChange()
    second.updatedTasks = [task]
    let store = try await storeAndRead([change, second])
    #expect(try await store.sessions().map(\.session) == [session])
    #expect(try await store.configuration(named.name) == named)
    #expect(try await store.task(task.id) == task)
    await store.close()
  }
}

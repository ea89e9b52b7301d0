import TestSupport
import Testing
import TransferModel

@testable import TransferStore

/// Members that documents of the current version got later: they are written where they say something, and read where they are.
/// Where they say nothing a document is what the golden ones are.
@Suite struct LaterMembersTests {
  private let samples = GoldenSamples(version: DocumentVersion.current)

  private func storeAndRead(_ changes: [StoreChange]) async throws -> SQLiteStore {
    let path = TemporaryDirectory.make("ferry-later") + "/test.db"
    let first = try SQLiteStore(path: path, box: GoldenSamples.box) { _ in }
    for change in changes { try await first.write(change) }
    await first.close()
    return try SQLiteStore(path: path, box: GoldenSamples.box) { _ in }
  }

  @Test func theyAreReadAsTheyWereWritten() async throws {
    var configuration = samples.configuration
    configuration.networkServiceType = .voice
    let session = TransferSession(
      id: samples.session.id, createdAt: GoldenSamples.time, description: nil, configuration: configuration,
      delegate: nil)
    let named = NamedConfiguration(
      name: ConfigurationName(tenant: .default, text: "later"), configuration: configuration,
      createdAt: GoldenSamples.time,
      updatedAt: GoldenSamples.time)
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
    // That it says nothing of responses is another thing than that it allows them.
    specification.preferences.delegate = TaskDelegate(delegate, given: [.redirects, .webhook, .caching])
    var task = TransferTask(
      id: samples.task.id, sessionID: session.id, taskIdentifier: 1, createdAt: GoldenSamples.time,
      specification: specification)
    task.currentRequest.networkServiceType = .background
    _ = task.lifecycle.resume()
    task.phase = .waitingToRetry
    var change = StoreChange()
    (change.sessions, change.configurations, change.createdTasks) = ([session], [named], [task])
    var second = StoreChange()
    second.updatedTasks = [task]
    let store = try await storeAndRead([change, second])
    #expect(try await store.sessions().map(\.session) == [session])
    #expect(try await store.configuration(named.name) == named)
    #expect(try await store.task(task.id) == task)
    await store.close()
  }
}

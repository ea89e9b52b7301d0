import HTTPFields
import Testing
import TransferModel

@testable import TransferCore

/// Only an outline of a large session stays in memory while all of its tasks are evicted.
@Suite struct SessionOutlineTests {
  private static let long = String(repeating: "x", count: 5000)

  private static func stage(_ type: SessionType = .default, _ description: String? = long)
    -> SessionMachineHarness
  {
    var stage = SessionMachineHarness(type, description: description)
    stage.give(.recoveredAll)
    return stage
  }

  @Test(arguments: [SessionType.default, .background]) func `large session without tasks becomes an outline`(
    _ type: SessionType
  ) {
    var stage = Self.stage(type)
    let whole = stage.machine.session
    stage.machine.reduceToOutline()
    let outline = stage.machine.session
    #expect(outline.isOutline && outline.isLarge && outline.description == nil)
    #expect((outline.id, outline.type, outline.identifier) == (whole.id, whole.type, whole.identifier))
    stage.give(.restore(whole))
    #expect(stage.machine.session == whole && !stage.machine.session.isOutline)
  }

  @Test func `small, ephemeral or unrecovered sessions stay whole`() {
    for var stage in [
      Self.stage(.ephemeral), Self.stage(.default, "small"), SessionMachineHarness(description: Self.long),
    ] {
      stage.machine.reduceToOutline()
      #expect(!stage.machine.session.isOutline)
    }
  }

  /// The session stays whole until the task's commit has succeeded, and while the task runs.
  @Test func `session with a task in memory stays whole`() {
    var stage = Self.stage()
    let whole = stage.machine.session
    let id = stage.create(isRunning: false)
    stage.machine.reduceToOutline()
    #expect(!stage.machine.session.isOutline)
    stage.evict()
    #expect(stage.machine.tasks.isEvicted(id), "a small task is evicted, too")
    stage.machine.reduceToOutline()
    #expect(stage.machine.session.isOutline)
    stage.give(.restore(whole))
    stage.load(id)
    stage.give(.resume(id))
    stage.evict()
    stage.machine.reduceToOutline()
    #expect(!stage.machine.session.isOutline && stage.takeOrders().count == 1)
  }

  /// The tasks are loaded and cancelled one after the other.
  @Test func `cancelled session becomes an outline at its end`() {
    var stage = Self.stage()
    let ids = (0..<3).map { _ in stage.create(isRunning: false) }
    stage.evict()
    stage.give(.invalidate)
    #expect(Set(stage.machine.tasksToCancel()) == Set(ids))
    for id in ids {
      stage.machine.reduceToOutline()
      #expect(!stage.machine.session.isOutline)
      stage.load(id)
      stage.give(.cancelTasks([id]))
    }
    stage.machine.reduceToOutline()
    #expect(stage.machine.session.isOutline && stage.machine.session.state == .invalid)
  }

  /// The row may be older than the session's state.
  @Test func `restoring a row keeps the state`() {
    var stage = Self.stage()
    let whole = stage.machine.session
    stage.give(.invalidate)
    stage.machine.reduceToOutline()
    #expect(stage.machine.session.isOutline && stage.machine.session.state == .invalid)
    stage.give(.restore(whole))
    #expect(stage.machine.session.description == Self.long && stage.machine.session.state == .invalid)
  }

  @Test func `outline has no large members`() {
    var configuration = SessionConfiguration()
    configuration.httpAdditionalHeaders = HTTPHeaders([.init(name: "X-Long", value: Self.long)])
    configuration.secretHeaderFields = ["X-Long"]
    configuration.tlsAdditionalRootCertificates = Self.long
    configuration.proxies.noProxy = ProxyExceptions((0..<100).compactMap { ProxyException("\($0).test") })
    configuration.tlsPinnedPublicKeys = [PinnedHost(pattern: "a.test", keys: [[1]])]
    configuration.timeoutIntervalForRequest = 7
    let session = TransferSession(
      id: SessionID(high: 1, low: 2), createdAt: Timestamp(seconds: 1), description: Self.long,
      configuration: configuration, delegate: nil)
    let outline = session.outline.configuration
    #expect(outline.httpAdditionalHeaders.fields.isEmpty && outline.secretHeaderFields.isEmpty)
    #expect(outline.tlsAdditionalRootCertificates == nil && outline.tlsPinnedPublicKeys.isEmpty)
    #expect(outline.proxies.noProxy.all.isEmpty && outline.timeoutIntervalForRequest == 7)
    #expect(session.outline.completed(from: session) == session)
  }
}

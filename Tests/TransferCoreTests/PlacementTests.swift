import Testing
import TransferModel

@testable import TransferCore

/// The way of a received body to its destination, over cancellations, crashes and handovers.
@Suite struct PlacementTests {
  private static let mark = FileMark(inode: 7, size: 3, modifiedAt: 9)
  private static let file = PlacedFile(file: "/srv/a", mark: mark)

  /// Creates a download whose body has just arrived.
  private static func received(
    _ harness: inout SessionMachineHarness, _ kind: TransferOutcome.Body = .file
  ) throws -> TaskID {
    let id = harness.create(.download) { $0.preferences.destination = Destination(file: "/srv/a") }
    let task = try #require(harness.machine.task(id)?.task)
    var outcome = TransferOutcome.end(of: task, at: harness.now.wall)
    outcome.body = kind
    outcome.blob = BlobStamp(epoch: 3, attempt: 1)
    harness.fact(.began(id, at: harness.now.wall))
    harness.fact(.ended(id, outcome))
    return id
  }

  private static func restarted(_ old: SessionMachineHarness, _ id: TaskID) throws -> SessionMachineHarness {
    var new = SessionMachineHarness(after: old)
    new.give(.recovered(try #require(old.rows[id])))
    if new.isCarriedElsewhere { new.give(.workerTasksKnown(except: [])) }
    new.give(.recoveredAll)
    return new
  }

  private static func order(_ id: TaskID, _ harness: SessionMachineHarness, earlier: FileMark? = nil)
    -> PlacementOrder
  {
    PlacementOrder(
      task: id, tenant: harness.machine.session.tenant, destination: Destination(file: "/srv/a"), body: .file,
      key: BlobKey(id, .body, BlobStamp(epoch: 3, attempt: 1)), size: 3, earlier: earlier)
  }

  @Test(arguments: [SessionType.default, .ephemeral, .background])
  func `received body is prepared, renamed and then reported`(_ type: SessionType) throws {
    var harness = SessionMachineHarness(type, delegate: SessionDelegate())
    let id = try Self.received(&harness)
    #expect(harness.takePlacements() == [.prepare(Self.order(id, harness))] && harness.ends.isEmpty)
    #expect(harness.rows[id]?.placement?.outcome.size == 3 && harness.rows[id]?.state == .running)
    harness.give(.placement(id, .prepared(Self.mark)))
    #expect(harness.takePlacements() == [.rename(Self.order(id, harness), Self.mark)] && harness.ends.isEmpty)
    #expect(harness.rows[id]?.placement?.mark == Self.mark)
    harness.give(.placement(id, .placed(Self.file)))
    let ended = try #require(harness.rows[id])
    #expect(ended.outcome == .succeeded && ended.body?.placed == Self.file && ended.body?.expiresAt == nil)
    #expect(ended.placement == nil && ended.keptUntil == nil && ended.keptBytes == 0)
    #expect(harness.ends == [id: 1] && harness.unwantedBodies == [Self.order(id, harness).key])
    #expect(
      harness.types(of: id).suffix(3) == [
        .downloadTaskDidFinishDownloading, .taskDidFinishCollectingMetrics, .taskDidComplete,
      ])
    // A late report changes nothing.
    harness.give(.placement(id, .placed(Self.file)))
    #expect(harness.ends == [id: 1])
  }

  @Test func `failed destination keeps the body`() throws {
    for step in [false, true] {
      var harness = SessionMachineHarness()
      let id = try Self.received(&harness)
      if step { harness.give(.placement(id, .prepared(Self.mark))) }
      harness.give(.placement(id, .failed(TransferError(.destinationFailed, "no space"))))
      let ended = try #require(harness.rows[id])
      #expect(ended.error?.reason == .ferry(.destinationFailed) && ended.body?.expiresAt != nil)
      #expect(ended.body?.blob == BlobStamp(epoch: 3, attempt: 1) && harness.unwantedBodies.isEmpty)
      #expect(!harness.types(of: id).contains(.downloadTaskDidFinishDownloading))
    }
  }

  @Test func `failed transfer places nothing`() throws {
    var harness = SessionMachineHarness()
    let id = harness.create(.download) { $0.preferences.destination = Destination(file: "/srv/a") }
    let task = try #require(harness.machine.task(id)?.task)
    harness.fact(.ended(id, .end(of: task, at: harness.now.wall, error: .timedOut)))
    #expect(harness.takePlacements().isEmpty && harness.ends == [id: 1])
  }

  @Test func `cancellation before the rename leaves no file`() throws {
    var harness = SessionMachineHarness()
    let id = try Self.received(&harness)
    _ = harness.takePlacements()
    harness.give(.cancel(id, keepsPartial: false))
    #expect(harness.takePlacements() == [.cancel(id)] && harness.ends.isEmpty)
    harness.give(.placement(id, .prepared(Self.mark)))
    #expect(harness.takePlacements() == [.discard(Self.order(id, harness))])
    #expect(harness.rows[id]?.outcome == .cancelled && harness.rows[id]?.body == nil)
    #expect(harness.unwantedBodies == [Self.order(id, harness).key])
  }

  @Test func `cancellation during the rename has no effect`() throws {
    var harness = SessionMachineHarness()
    let id = try Self.received(&harness)
    harness.give(.placement(id, .prepared(Self.mark)))
    harness.give(.cancel(id, keepsPartial: false))
    #expect(harness.machine.task(id)?.task.state == .running)
    harness.give(.placement(id, .placed(Self.file)))
    #expect(harness.rows[id]?.outcome == .succeeded)
  }

  @Test(arguments: [SessionType.default, .background])
  func `next service continues after a crash`(_ type: SessionType) throws {
    var old = SessionMachineHarness(type, delegate: SessionDelegate())
    let id = try Self.received(&old)
    var new = try Self.restarted(old, id)
    #expect(new.takePlacements() == [.prepare(Self.order(id, new))])
    new.give(.placement(id, .prepared(Self.mark)))
    var last = try Self.restarted(new, id)
    #expect(last.takePlacements() == [.prepare(Self.order(id, last, earlier: Self.mark))])
    // The earlier service has renamed the file.
    last.give(.placement(id, .placed(Self.file)))
    #expect(last.ends == [id: 1] && last.rows[id]?.outcome == .succeeded && last.takeOrders().isEmpty)
  }

  @Test func `cancelled task is not placed after a crash`() throws {
    var old = SessionMachineHarness()
    let id = try Self.received(&old)
    old.give(.cancel(id, keepsPartial: false))
    var new = try Self.restarted(old, id)
    #expect(new.takePlacements().isEmpty && new.ends == [id: 1] && new.rows[id]?.outcome == .cancelled)
    #expect(new.unwantedBodies.last == Self.order(id, new).key)
  }

  @Test func `task that is suspended during its placement ends`() throws {
    var harness = SessionMachineHarness()
    let id = try Self.received(&harness)
    harness.give(.suspend(id))
    #expect(!harness.machine.isQuiet)
    harness.give(.placement(id, .prepared(Self.mark)))
    harness.give(.placement(id, .placed(Self.file)))
    #expect(harness.rows[id]?.outcome == .succeeded)
  }

  @Test func `received body of an earlier task needs no transfer`() throws {
    var harness = SessionMachineHarness()
    let id = harness.create(.download, isRunning: false) {
      $0.preferences.destination = Destination(file: "/srv/a")
      var outcome = TransferOutcome(
        error: nil, currentRequest: $0.request, response: .ok, progress: TaskProgress(), transactions: [],
        endedAt: Timestamp(seconds: 1))
      (outcome.body, outcome.size) = (.memory([1, 2, 3]), 3)
      $0.received = outcome
    }
    #expect(harness.takePlacements().isEmpty && harness.rows[id]?.placement != nil)
    var next = try Self.restarted(harness, id)
    next.give(.resume(id))
    #expect(next.takePlacements().count == 1 && next.takeOrders().isEmpty)
    next.give(.placement(id, .prepared(Self.mark)))
    next.give(.placement(id, .placed(Self.file)))
    #expect(next.rows[id]?.outcome == .succeeded && next.unwantedBodies.isEmpty)
    #expect(try #require(next.rows[id]?.completedAt) > Timestamp(seconds: 1))
  }

  @Test func `request cannot change during the placement`() throws {
    var harness = SessionMachineHarness()
    let id = try Self.received(&harness)
    harness.give(.suspend(id))
    #expect(harness.machine.task(id)?.requestChangeRefusal == .responded)
  }
}

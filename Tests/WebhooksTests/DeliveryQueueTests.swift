import Testing
import TransferModel

@testable import Webhooks

/// A queue with a ledger of its own: what the shell and the database do, without time and threads.
private struct Bench {
  var queue: DeliveryQueue
  var now = DeliveryQueue.Now(wall: Timestamp(seconds: 1_700_000_000), uptime: .now)
  /// The pending messages in the order of their commits.
  var stored: [WebhookDelivery] = []
  /// The messages that are being sent.
  var flights: [WebhookDelivery] = []
  /// The messages that were read from the ledger.
  var readCount = 0
  var wakeAt: ContinuousClock.Instant?
  private var number: UInt64 = 0

  init() {
    queue = DeliveryQueue(at: now)
    run()
  }

  mutating func pass(_ seconds: Double) {
    now = DeliveryQueue.Now(
      wall: now.wall.adding(seconds: seconds), uptime: now.uptime.advanced(by: .seconds(seconds)))
    run()
  }

  /// Commits a message.
  @discardableResult
  mutating func commit(
    to destination: UInt64 = 1, task: UInt64? = nil, tenant: String = "default", isNotified: Bool = true
  ) -> DeliveryID {
    number += 1
    let delivery = WebhookDelivery(
      id: DeliveryID(high: 1, low: number), tenant: Tenant(name: tenant), sessionID: .shared,
      taskID: task.map { TaskID(high: 2, low: $0) }, type: .taskDidComplete,
      destination: DestinationID(high: 3, low: destination), payload: [1], createdAt: now.wall,
      order: task == nil ? .none : .task)
    stored.append(delivery)
    if isNotified {
      queue.add([delivery], at: now)
      run()
    }
    return delivery.id
  }

  /// Carries out what the queue wants, until it wants nothing.
  mutating func run() {
    while true {
      let (actions, wakeAt) = queue.next(at: now)
      self.wakeAt = wakeAt
      if actions.isEmpty { return }
      for action in actions {
        switch action {
        case .attempt(let delivery): flights.append(delivery)
        case .load(let request): queue.loaded(page(request), for: request.destination)
        case .scan: queue.scanned(destinations, limit: .max)
        }
      }
    }
  }

  private var destinations: [PendingDestination] {
    Dictionary(grouping: stored, by: \.destination).map { id, deliveries in
      PendingDestination(
        id, of: deliveries[0].tenant, nextAttemptAt: deliveries.map(\.nextAttemptAt).min())
    }.sorted { $0.id < $1.id }
  }

  private mutating func page(_ request: DeliveryQueue.DueDeliveryRequest) -> DeliveryQueue.LoadedPage {
    var tasks: Set<TaskID> = []
    let heads = stored.filter { delivery in
      guard delivery.destination == request.destination else { return false }
      return delivery.orderedTask.map { tasks.insert($0).inserted } ?? true
    }.filter { !request.excluded.contains($0.id) }
    let due = heads.filter { $0.nextAttemptAt <= now.wall }
    let page = Array(due.prefix(request.limit))
    readCount += page.count
    return DeliveryQueue.LoadedPage(
      page, isLast: due.count == page.count,
      nextAttemptAt: heads.map(\.nextAttemptAt).filter { $0 > now.wall }.min())
  }

  /// Ends an attempt, and records its result.
  mutating func end(_ id: DeliveryID, status: Int = 204, retryAfter seconds: Double = 5) {
    guard let place = flights.firstIndex(where: { $0.id == id }) else {
      Issue.record("\(id) is not being sent")
      return
    }
    var delivery = flights.remove(at: place)
    let succeeded = status == 204
    queue.ended(id, succeeded: succeeded, at: now)
    run()
    if succeeded {
      delivery.finish(.delivered, at: now.wall)
      stored.removeAll { $0.id == id }
    } else {
      delivery.nextAttemptAt = now.wall.adding(seconds: seconds)
      stored = stored.map { $0.id == id ? delivery : $0 }
    }
    queue.recorded([delivery])
    run()
  }

  mutating func endAll(status: Int = 204) { for delivery in flights { end(delivery.id, status: status) } }
}

@Suite struct DeliveryQueueTests {
  @Test func `new message is sent from memory`() {
    var bench = Bench()
    let id = bench.commit()
    #expect(bench.flights.map(\.id) == [id])
    bench.end(id)
    #expect(bench.readCount == 0 && bench.queue.heldCount == 0 && bench.wakeAt == nil)
  }

  @Test func `messages of an earlier process are found by a scan`() {
    var bench = Bench()
    let ids = [bench.commit(isNotified: false), bench.commit(to: 2, isNotified: false)]
    bench.queue.rescan()
    bench.run()
    #expect(Set(bench.flights.map(\.id)) == Set(ids))
  }

  @Test func `messages of a task wait for each other`() {
    var bench = Bench()
    let ids = (0..<3).map { _ in bench.commit(task: 1) }
    let other = bench.commit(task: 2)
    #expect(bench.flights.map(\.id) == [ids[0], other])
    bench.end(ids[0])
    #expect(bench.flights.map(\.id) == [other, ids[1]])
    #expect(bench.flights.last?.place == .promoted)
    bench.end(ids[1])
    bench.end(ids[2])
    #expect(bench.readCount == 0)
  }

  @Test func `failed message holds up only its own task`() {
    var bench = Bench()
    let ids = (0..<3).map { _ in bench.commit(task: 1) }
    bench.end(ids[0], status: 500)
    #expect(bench.flights.isEmpty)
    let other = bench.commit(task: 2)
    #expect(bench.flights.map(\.id) == [other])
    let late = bench.commit(task: 1)
    bench.end(other)
    bench.pass(4)
    #expect(bench.flights.isEmpty)
    bench.pass(1.1)
    #expect(bench.flights.map(\.id) == [ids[0]])
    for id in [ids[0], ids[1], ids[2], late] { bench.end(id) }
    #expect(bench.stored.isEmpty && bench.queue.heldCount == 0)
  }

  @Test func `new destination gets few attempts until it has proved itself`() {
    var bench = Bench()
    for _ in 0..<30 { bench.commit() }
    #expect(bench.flights.count == 4)
    bench.end(bench.flights[0].id)
    #expect(bench.flights.count == 16)
    bench.endAll()
    #expect(bench.flights.count == 13)
  }

  @Test func `silent destinations delay no healthy one`() {
    var bench = Bench()
    bench.end(bench.commit(to: 1_000_000))
    for number in 0..<1000 { bench.commit(to: UInt64(number)) }
    let good = bench.commit(to: 1_000_000)
    #expect(bench.flights.contains { $0.id == good })
    #expect(bench.flights.count == 65)
    // After a second, slow attempts make room for others.
    for _ in 0..<20 { bench.pass(1) }
    #expect(bench.flights.count == 1001)
    bench.end(good)
    let next = bench.commit(to: 1_000_000)
    #expect(bench.flights.contains { $0.id == next })
  }

  @Test func `tenants are served in turn`() {
    var bench = Bench()
    for number in 0..<200 { bench.commit(to: UInt64(number), tenant: "a") }
    let other = bench.commit(to: 999, tenant: "b")
    #expect(bench.flights.count == 64)
    bench.end(bench.flights[0].id)
    bench.end(bench.flights[0].id)
    #expect(bench.flights.contains { $0.id == other })
  }

  @Test func `messages beyond the window are read from the ledger`() {
    var bench = Bench()
    let ids = (0..<500).map { _ in bench.commit() }
    #expect(bench.queue.heldCount <= 128)
    var order: [DeliveryID] = []
    while let first = bench.flights.first {
      order.append(first.id)
      bench.end(first.id)
      #expect(bench.queue.heldCount <= 128)
    }
    #expect(order.count == 500 && Set(order) == Set(ids) && bench.stored.isEmpty)
  }

  @Test func `circuit opens after many failures over half a minute`() {
    var bench = Bench()
    for _ in 0..<200 { bench.commit() }
    for _ in 0..<10 {
      bench.endAll(status: 500)
      bench.pass(6)
    }
    let inFlight = bench.flights.count
    bench.endAll(status: 500)
    #expect(inFlight <= 4 && bench.flights.isEmpty)
    // Its messages wait in the ledger.
    #expect(bench.queue.heldCount == 0)
    bench.pass(9)
    #expect(bench.flights.isEmpty)
    for _ in 0..<60 where bench.flights.isEmpty { bench.pass(10) }
    #expect(bench.flights.count == 1)
    // A success closes it.
    bench.end(bench.flights[0].id)
    #expect(bench.flights.count == 16)
  }

  @Test func `rate of an endpoint is limited`() {
    var bench = Bench()
    var policy = DeliveryQueue.Policy()
    policy.maximumPerSecond = 2
    bench.queue.replacePolicies([PendingDestination(DestinationID(high: 3, low: 1), of: .default): policy])
    for _ in 0..<10 { bench.commit() }
    var starts = bench.flights.count
    for _ in 0..<20 {
      bench.endAll()
      bench.pass(0.1)
      starts += bench.flights.count
    }
    #expect(starts == 5)
  }

  @Test func `rate of an endpoint holds for messages that come one by one`() {
    var bench = Bench()
    var policy = DeliveryQueue.Policy()
    policy.maximumPerSecond = 0.2
    bench.queue.replacePolicies([PendingDestination(DestinationID(high: 3, low: 1), of: .default): policy])
    bench.end(bench.commit())
    let next = bench.commit()
    #expect(bench.flights.isEmpty)
    bench.pass(4.9)
    #expect(bench.flights.isEmpty)
    bench.pass(0.2)
    #expect(bench.flights.map(\.id) == [next])
  }

  @Test func `slow successful destinations delay no other`() {
    var bench = Bench()
    bench.end(bench.commit(to: 1_000_000))
    for round in 0..<10 {
      for number in 0..<300 { bench.commit(to: UInt64(number)) }
      // They reply after more than a second.
      for _ in 0..<20 { bench.pass(1) }
      if round > 0 {
        let good = bench.commit(to: 1_000_000)
        #expect(bench.flights.contains { $0.id == good }, "round \(round)")
        bench.end(good)
      }
      bench.endAll()
    }
  }

  @Test func `messages of a disabled endpoint wait until it is enabled`() {
    var bench = Bench()
    let destination = PendingDestination(DestinationID(high: 3, low: 1), of: .default)
    var policy = DeliveryQueue.Policy()
    policy.isEnabled = false
    bench.queue.replacePolicies([destination: policy])
    let ids = (0..<3).map { _ in bench.commit(task: 1) }
    bench.pass(100)
    #expect(bench.flights.isEmpty)
    policy.isEnabled = true
    bench.queue.replacePolicies([destination: policy])
    bench.run()
    for id in ids {
      #expect(bench.flights.map(\.id) == [id])
      bench.end(id)
    }
  }

  @Test func `message that a disabled endpoint could not get is read again`() {
    var bench = Bench()
    let id = bench.commit()
    let delivery = bench.flights.removeLast()
    bench.queue.released(delivery, isSentHere: true)
    #expect(bench.queue.heldCount == 0)
    bench.run()
    #expect(bench.flights.map(\.id) == [id])
  }

  @Test func `messages that arrived for one destination make only that one read`() {
    var bench = Bench()
    for number in 0..<5 { bench.end(bench.commit(to: UInt64(number)), status: 500) }
    let id = bench.commit(to: 2, isNotified: false)
    bench.queue.reload([PendingDestination(DestinationID(high: 3, low: 2), of: .default)])
    bench.run()
    #expect(bench.flights.map(\.id) == [id] && bench.readCount == 1)
  }

  @Test func `scan that is wanted during a scan begins after it`() {
    var bench = Bench()
    bench.queue.rescan()
    #expect(bench.queue.next(at: bench.now).actions.count { $0.isScan } == 1)
    bench.queue.rescan()
    bench.queue.rescan()
    #expect(bench.queue.next(at: bench.now).actions.isEmpty)
    bench.queue.scanned([], limit: 500)
    #expect(bench.queue.next(at: bench.now).actions.count { $0.isScan } == 1)
    bench.queue.scanned([], limit: 500)
    #expect(bench.queue.next(at: bench.now).actions.isEmpty)
  }

  @Test func `periodic scan reads no destination that waits for its next attempt`() {
    var bench = Bench()
    for number in 0..<5 { bench.end(bench.commit(to: UInt64(number)), status: 500) }
    let late = bench.commit(to: 9, isNotified: false)
    bench.queue.rescan(includesFutureAttempts: false)
    bench.run()
    #expect(bench.flights.map(\.id) == [late] && bench.readCount == 1)
    bench.pass(6)
    #expect(bench.flights.count == 6)
  }

  @Test func `clock that was set back delays no message`() {
    var bench = Bench()
    let id = bench.commit()
    bench.end(id, status: 500, retryAfter: 5)
    bench.now = DeliveryQueue.Now(
      wall: bench.now.wall.adding(seconds: -100_000), uptime: bench.now.uptime.advanced(by: .seconds(6)))
    #expect(bench.queue.next(at: bench.now).actions.count { $0.isScan } == 1)
    bench.queue.scanned(
      [
        PendingDestination(
          DestinationID(high: 3, low: 1), of: .default, nextAttemptAt: bench.stored[0].nextAttemptAt)
      ], limit: 500)
    var includesFuture = false
    for action in bench.queue.next(at: bench.now).actions {
      if case .load(let request) = action { includesFuture = request.includesFutureAttempts }
    }
    #expect(includesFuture)
  }

  /// Commits, results, pauses and restarts in random order: each task's messages arrive in order, and all arrive.
  @Test(arguments: UInt64(1)...40) func `random walk delivers every message in order`(_ seed: UInt64) {
    var random = SeededRandom(seed: seed)
    var bench = Bench()
    var committed: [UInt64: [DeliveryID]] = [:]
    var arrived: [UInt64: [DeliveryID]] = [:]
    func take(_ bench: inout Bench, failing: Int) {
      guard let flight = bench.flights.randomElement(using: &random) else { return bench.pass(1) }
      let task = flight.taskID?.low ?? 0
      let fails = Int.random(in: 0..<100, using: &random) < failing
      if !fails { arrived[task, default: []].append(flight.id) }
      bench.end(flight.id, status: fails ? 500 : 204)
    }
    for _ in 0..<600 {
      switch Int.random(in: 0..<10, using: &random) {
      case 0..<4:
        let task = UInt64.random(in: 1...5, using: &random)
        committed[task, default: []].append(bench.commit(to: task % 2, task: task))
      case 4..<8: take(&bench, failing: 30)
      case 8: bench.pass(Double.random(in: 0...7, using: &random))
      default:
        guard Int.random(in: 0..<8, using: &random) == 0 else { break }
        // Another process continues: only the ledger remains.
        bench.flights = []
        bench.queue = DeliveryQueue(at: bench.now)
        bench.run()
      }
    }
    for _ in 0..<5000 where !bench.stored.isEmpty { take(&bench, failing: 0) }
    #expect(bench.stored.isEmpty && bench.queue.heldCount == 0)
    #expect(arrived == committed)
  }
}

extension DeliveryQueue.Action {
  fileprivate var isScan: Bool { if case .scan = self { true } else { false } }
}

/// A generator with a seed (SplitMix64).
private struct SeededRandom: RandomNumberGenerator {
  var seed: UInt64
  mutating func next() -> UInt64 {
    seed &+= 0x9E37_79B9_7F4A_7C15
    var value = seed
    value = (value ^ value >> 30) &* 0xBF58_476D_1CE4_E5B9
    value = (value ^ value >> 27) &* 0x94D0_49BB_1331_11EB
    return value ^ value >> 31
  }
}

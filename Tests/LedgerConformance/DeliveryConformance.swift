import HTTPFields
import Ledger
import Testing
import TransferModel

/// The contract for the order of deliveries, their lists, and webhook endpoints.
struct DeliveryConformance {
  static let cases: [ConformanceCase] = [
    .init("messagesOfATaskAreDueOneAfterTheOther") {
      try await Self().messagesOfATaskAreDueOneAfterTheOther($0)
    },
    .init("redeliveryReleasesTheMessagesThatWaitForIt") {
      try await Self().redeliveryReleasesTheMessagesThatWaitForIt($0)
    },
    .init("destinationsWithPendingDeliveriesAreListed") {
      try await Self().destinationsWithPendingDeliveriesAreListed($0)
    },
    .init("excludedDeliveriesAreNotDue") { try await Self().excludedDeliveriesAreNotDue($0) },
    .init("deliveriesAreListedByFilterAndOrder") {
      try await Self().deliveriesAreListedByFilterAndOrder($0)
    },
    .init("changedDeliveryFailsItsCondition") { try await Self().changedDeliveryFailsItsCondition($0) },
    .init("endpointsAreReadAsLastWritten") { try await Self().endpointsAreReadAsLastWritten($0) },
  ]

  private static let time = LedgerBench.time
  private static func id<Kind>(_ number: UInt64) -> ID<Kind> { LedgerBench.id(number) }

  private static func message(
    _ number: UInt64, of task: UInt64 = 1, to destination: UInt64 = 1, order: DeliveryOrder = .task
  ) -> WebhookDelivery {
    .sample(
      id: id(number), sessionID: .shared, taskID: id(task), destination: id(destination),
      createdAt: time, order: order)
  }

  private func due(_ store: any Ledger, _ destination: UInt64 = 1) async throws -> [WebhookDelivery] {
    try await store.dueDeliveries(DueDeliveryQuery(to: Self.id(destination), at: Self.time, limit: 99))
      .deliveries
  }

  private func ids(_ numbers: UInt64...) -> [DeliveryID] { numbers.map { Self.id($0) } }

  func messagesOfATaskAreDueOneAfterTheOther(_ kind: LedgerKind) async throws {
    let store = try LedgerBench(kind).open()
    try await store.write { change in
      change.newDeliveries = [
        Self.message(1), Self.message(2), Self.message(3, of: 2), Self.message(4, to: 2),
        Self.message(5, order: .none), Self.message(6),
      ]
    }
    #expect(try await due(store).map(\.id) == ids(1, 3, 5))
    #expect(try await due(store, 2).map(\.id) == ids(4))
    var first = try #require(try await due(store).first)
    #expect(first.place == .first)
    first.record(DeliveryAttempt(at: Self.time, status: 500))
    first.nextAttemptAt = Self.time.adding(seconds: 9)
    try await store.write { [first] in $0.updatedDeliveries = [first] }
    #expect(try await due(store).map(\.id) == ids(3, 5))
    first.finish(.failed, at: Self.time)
    try await store.write { [first] in $0.updatedDeliveries = [first] }
    let next = try await due(store)
    #expect(next.map(\.id) == ids(2, 3, 5) && next.map(\.place) == [.promoted, .first, .unordered])
    // A message that comes later still waits for its predecessors.
    try await store.write { $0.newDeliveries = [Self.message(7)] }
    #expect(try await due(store).map(\.id) == ids(2, 3, 5))
    for number in [2, 6, 7] as [UInt64] {
      var delivery = try #require(try await due(store).first { $0.id == Self.id(number) })
      delivery.finish(.delivered, at: Self.time)
      try await store.write { [delivery] in $0.updatedDeliveries = [delivery] }
    }
    #expect(try await due(store).map(\.id) == ids(3, 5))
    await store.close()
  }

  func redeliveryReleasesTheMessagesThatWaitForIt(_ kind: LedgerKind) async throws {
    let store = try LedgerBench(kind).open()
    try await store.write { $0.newDeliveries = [Self.message(1), Self.message(2)] }
    var first = try #require(try await due(store).first)
    first.redeliver(at: Self.time)
    try await store.write { [first] in $0.updatedDeliveries = [first] }
    #expect(try await due(store).map(\.id) == ids(1, 2))
    await store.close()
  }

  func destinationsWithPendingDeliveriesAreListed(_ kind: LedgerKind) async throws {
    let store = try LedgerBench(kind).open()
    try await store.write { change in
      change.newDeliveries =
        (1...5).map { Self.message($0, of: $0, to: 10 + $0) } + [
          Self.message(6, of: 6, to: 11)
        ]
    }
    var settled = Self.message(3, of: 3, to: 13)
    settled.finish(.delivered, at: Self.time)
    try await store.write { [settled] in $0.updatedDeliveries = [settled] }
    let all = [11, 12, 14, 15].map { PendingDestination(Self.id($0), of: .default, nextAttemptAt: Self.time) }
    #expect(try await store.pendingDestinations(after: nil, limit: 9) == all)
    #expect(try await store.pendingDestinations(after: nil, limit: 2) == Array(all[..<2]))
    #expect(try await store.pendingDestinations(after: all[1].id, limit: 9) == Array(all[2...]))
    await store.close()
  }

  func excludedDeliveriesAreNotDue(_ kind: LedgerKind) async throws {
    let store = try LedgerBench(kind).open()
    try await store.write { change in change.newDeliveries = (1...4).map { Self.message($0, of: $0) } }
    let query = DueDeliveryQuery(to: Self.id(1), at: Self.time, limit: 2, excluding: Set(ids(1, 3)))
    let page = try await store.dueDeliveries(query)
    #expect(page.deliveries.map(\.id) == ids(2, 4) && page.isLast && page.nextAttemptAt == nil)
    let short = try await store.dueDeliveries(DueDeliveryQuery(to: Self.id(1), at: Self.time, limit: 3))
    #expect(short.deliveries.count == 3 && !short.isLast)
    let early = try await store.dueDeliveries(
      DueDeliveryQuery(to: Self.id(1), at: Self.time.adding(seconds: -1), limit: 3))
    #expect(early.deliveries == [] && early.isLast && early.nextAttemptAt == Self.time)
    await store.close()
  }

  func deliveriesAreListedByFilterAndOrder(_ kind: LedgerKind) async throws {
    let store = try LedgerBench(kind).open()
    let endpoint: EndpointID = Self.id(7)
    var all = (1...4).map { Self.message($0, of: $0) }
    all.append(
      .sample(
        id: Self.id(5), sessionID: .shared, taskID: Self.id(1), endpointID: endpoint, webhook: nil,
        createdAt: Self.time.adding(seconds: 5)))
    all.append(.sample(id: Self.id(6), tenant: Tenant(name: "b"), sessionID: .shared, createdAt: Self.time))
    try await store.write { [all] in $0.newDeliveries = all }
    all[1].finish(.failed, at: Self.time)
    all[2].finish(.delivered, at: Self.time)
    try await store.write { [all] in $0.updatedDeliveries = [all[1], all[2]] }
    func list(_ change: (inout DeliveryQuery) -> Void) async throws -> [DeliveryID] {
      var query = DeliveryQuery(of: .default, limit: 99)
      change(&query)
      return try await store.deliveries(query).map(\.id)
    }
    #expect(try await list { _ in } == ids(1, 2, 3, 4, 5))
    #expect(try await list { $0.order = .newest } == ids(5, 4, 3, 2, 1))
    #expect(try await list { ($0.after, $0.limit) = (Self.id(2), 2) } == ids(3, 4))
    #expect(
      try await list { ($0.after, $0.limit, $0.order) = (Self.id(4), 2, .newest) } == ids(3, 2))
    #expect(try await list { $0.state = .failed } == ids(2))
    #expect(try await list { ($0.state, $0.order) = (.failed, .newest) } == ids(2))
    #expect(try await list { $0.state = .pending } == ids(1, 4, 5))
    #expect(try await list { $0.task = Self.id(1) } == ids(1, 5))
    #expect(try await list { ($0.task, $0.order) = (Self.id(1), .newest) } == ids(5, 1))
    #expect(try await list { ($0.task, $0.state) = (Self.id(2), .delivered) } == [])
    #expect(try await list { $0.endpoint = endpoint } == ids(5))
    #expect(try await list { ($0.endpoint, $0.task) = (endpoint, Self.id(2)) } == [])
    #expect(try await list { $0.since = Self.time.adding(seconds: 1) } == ids(5))
    #expect(try await list { $0.state = .delivered } == ids(3))
    #expect(try await list { ($0.state, $0.order) = (.pending, .newest) } == ids(5, 4, 1))
    #expect(try await list { ($0.state, $0.after, $0.limit) = (.pending, Self.id(1), 1) } == ids(4))
    #expect(try await list { ($0.endpoint, $0.state) = (endpoint, .pending) } == ids(5))
    #expect(try await list { ($0.endpoint, $0.state) = (endpoint, .failed) } == [])
    #expect(try await list { ($0.endpoint, $0.state, $0.order) = (endpoint, .pending, .newest) } == ids(5))
    #expect(
      try await list { ($0.state, $0.since) = (.pending, Self.time.adding(seconds: 1)) } == ids(5))
    await store.close()
  }

  func changedDeliveryFailsItsCondition(_ kind: LedgerKind) async throws {
    let store = try LedgerBench(kind).open()
    var delivery = Self.message(1)
    try await store.write { [delivery] in $0.newDeliveries = [delivery] }
    for (state, attempts) in [(WebhookDelivery.State.pending, 1), (.failed, 0)] {
      await #expect(throws: LedgerError.self) {
        try await store.write { $0.conditions = [.deliveryState(Self.id(1), state, attempts: attempts)] }
      }
    }
    delivery.record(DeliveryAttempt(at: Self.time, status: 500))
    try await store.write { [delivery] change in
      change.updatedDeliveries = [delivery]
      change.conditions = [.deliveryState(Self.id(1), .pending, attempts: 0)]
    }
    #expect(try await store.delivery(Self.id(1))?.attemptCount == 1)
    await store.close()
  }

  func endpointsAreReadAsLastWritten(_ kind: LedgerKind) async throws {
    let bench = LedgerBench(kind)
    var store = try bench.open()
    func endpoint(_ number: UInt64) -> WebhookEndpoint {
      var settings = WebhookEndpoint.Settings(url: "http://a/\(number)")
      settings.headers.append("X-A", "b")
      return WebhookEndpoint(
        id: Self.id(number), tenant: Tenant(name: "t\(number)"), createdAt: Self.time, settings: settings,
        keys: [SigningKey(.v1, [1, 2])])
    }
    var (first, second) = (endpoint(1), endpoint(2))
    try await store.write { [first, second] in $0.endpoints = [second, first] }
    #expect(try await store.endpoints() == [first, second])
    (first.disabledReason, first.revision) = ("gone", 1)
    try await store.write { [first] change in
      change.endpoints = [first]
      change.conditions = [.endpointRevision(first.id, 0)]
    }
    await #expect(throws: LedgerError.self) {
      try await store.write { [first] change in
        change.endpoints = [first]
        change.conditions = [.endpointRevision(first.id, 0)]
      }
    }
    await store.close()
    store = try bench.open()
    #expect(try await store.endpoints() == [first, second])
    second.revision = 5
    try await store.write { [second] in $0.deletedEndpoints = [second.id] }
    #expect(try await store.endpoints() == [first])
    await store.close()
  }
}

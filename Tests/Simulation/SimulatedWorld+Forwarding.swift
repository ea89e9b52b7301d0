internal import Cluster
internal import HTTPFields
internal import Ledger
internal import TransferCore
internal import TransferModel
internal import TransferService

/// How requests find the service that owns what they are about.
extension SimulatedWorld {
  private static let mostHops = 40

  /// Asks one of the services for somebody. A reply comes unless the process that was asked, or the one that it has asked, is gone by then.
  /// - Parameters:
  ///   - subject: what the request is about; nil: any service can carry it out.
  ///   - lost: is called in place of `then` where no reply comes.
  func call<Value: Sendable>(
    _ tenant: Tenant, about subject: Subject?,
    _ body: @escaping @Sendable (TenantView, ServiceNode) async throws -> Value,
    lost: (() -> Void)? = nil, then: @escaping @Sendable (Result<Value, any Error>) -> Void
  ) {
    ask(
      tenant, lost: lost,
      { [self] errand in
        try await carryOut(errand, tenant, subject) { () async throws(ClusterError) in
          guard let subject else { return .here(nil) }
          return try await errand.server.process.service.cluster.locator.place(of: subject, for: tenant)
        } body: {
          try await body($0, errand.server)
        }
      }, then: then)
  }

  /// Asks for a session.
  func callForSession(
    _ tenant: Tenant, _ wanted: SessionSpecification,
    then: @escaping @Sendable (Result<TransferSession, any Error>) -> Void
  ) {
    ask(
      tenant, lost: nil,
      { [self] errand in
        let shard = try await errand.contact.process.service.cluster.locator.shard(
          forNew: wanted.identifier, key: nil, of: tenant)
        return try await carryOut(errand, tenant, nil) { () async throws(ClusterError) in
          try await errand.server.process.service.cluster.locator.enter(shard)
        } body: {
          try await $0.createSession(wanted, in: shard) { _, _ in nil }.session
        }
      }, then: then)
  }

  private func ask<Value: Sendable>(
    _ tenant: Tenant, lost: (() -> Void)?, _ body: @escaping @Sendable (Errand) async throws -> Value,
    then: @escaping @Sendable (Result<Value, any Error>) -> Void
  ) {
    guard let contact = contact() else { return }
    let errand = Errand(contact, lost)
    errands.append(errand)
    contact.calls += 1
    executor.spawn { [self] in
      let result: Result<Value, any Error>
      do { result = .success(try await body(errand)) } catch let error as ClusterError {
        result = .failure(ServiceError(error))
      } catch {
        result = .failure(error)
      }
      guard let index = errands.firstIndex(where: { $0 === errand }) else { return }
      errands.remove(at: index)
      contact.calls -= 1
      then(result)
    }
    executor.run()
  }

  /// One that a client reaches.
  private func contact() -> ServiceNode? {
    let open = services.filter(\.answers)
    return open.isEmpty ? nil : open[open.count == 1 ? 0 : route.below(open.count)]
  }

  /// As the edge of a service does it: here, or at the service that owns the shard, which may have given it away meanwhile.
  private func carryOut<Value: Sendable>(
    _ errand: Errand, _ tenant: Tenant, _ subject: Subject?,
    at place: @escaping @Sendable () async throws(ClusterError) -> Place,
    body: @escaping @Sendable (TenantView) async throws -> Value
  ) async throws -> Value {
    func alone() async throws -> Value {
      do { return try await here(nil) } catch {
        guard try await errand.server.process.service.cluster.locator.mayBeElsewhere(error) else {
          throw error
        }
        throw Self.moving
      }
    }
    func here(_ shard: Shard?) async throws -> Value {
      let service = errand.server.process.service
      defer { if let shard { service.cluster.locator.leave(shard) } }
      return try await body(service.view(of: tenant))
    }
    /// Nil where it is not that one's either.
    func forward(to node: ServiceNode) async throws -> Value? {
      errand.server = node
      defer { errand.server = errand.contact }
      switch try await place() {
      case .here(let shard): return try await here(shard)
      case .alone: return try await alone()
      case .unknown: return try await here(nil)
      case .elsewhere: return nil
      }
    }
    let locator = errand.contact.process.service.cluster.locator
    for hop in 0..<Self.mostHops {
      switch try await place() {
      case .here(let shard): return try await here(shard)
      case .alone: return try await alone()
      case .unknown:
        guard let subject else { return try await here(nil) }
        guard let answers = await answers(to: subject, errand.contact) else { break }
        guard let holder = answers.first else { return try await here(nil) }
        if let value = try await forward(to: holder) { return value }
      case .elsewhere(let address):
        guard let node = peer(address, of: errand.contact) else { break }
        // It may stand still, and then nobody knows whether it will do what it was asked.
        if node.isFrozen, route.chance(500) { throw ServiceError.storeUnavailable("no reply") }
        if let value = try await forward(to: node) { return value }
      }
      try await locator.refresh(waits: hop > 0)
    }
    throw Self.moving
  }

  private static let moving = ServiceError.storeUnavailable(
    "the session is on its way from one process to another")

  /// The services that have it; nil where one of them does not answer.
  private func answers(to subject: Subject, _ contact: ServiceNode) async -> [ServiceNode]? {
    var found: [ServiceNode] = []
    var isClear = true
    for address in contact.process.service.cluster.locator.others {
      guard let node = peer(address, of: contact), !node.isFrozen else {
        isClear = false
        continue
      }
      if await node.process.service.cluster.locator.holds(subject) { found.append(node) }
    }
    return isClear || !found.isEmpty ? found : nil
  }

  /// The service of an address, where its socket can be reached.
  private func peer(_ address: String, of contact: ServiceNode) -> ServiceNode? {
    guard !contact.isCutOff else { return nil }
    return services.first { $0.address == address && $0.process.isServing && !$0.isCutOff && !$0.isLost }
  }

  /// Who waits for a reply of a service that is gone hears nothing.
  func loseErrands(of node: ServiceNode) {
    let gone = errands.filter { $0.contact === node || $0.server === node }
    errands.removeAll { $0.contact === node || $0.server === node }
    for errand in gone {
      errand.contact.calls -= 1
      errand.lost?()
    }
  }
}

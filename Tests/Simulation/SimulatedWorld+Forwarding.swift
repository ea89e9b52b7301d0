internal import Cluster
internal import HTTPServer
internal import HTTPTypes
internal import TransferModel
internal import TransferService

/// How requests find the service that owns what they are about.
extension SimulatedWorld {
  /// Asks one of the services for somebody. A reply comes unless the process that was asked, or the one that it has asked, is gone by then.
  /// - Parameters:
  ///   - subject: what the request is about; nil: any service can carry it out.
  ///   - lost: is called in place of `then` where no reply comes.
  func call<Value: Sendable>(
    _ tenant: Tenant, about subject: Subject?,
    _ body: @escaping @Sendable (TenantView, ServiceNode) async throws -> Value,
    lost: (() -> Void)? = nil, then: @escaping @Sendable (Result<Value, any Error>) -> Void
  ) {
    ask(tenant, about: subject, lost: lost, { view, node, _ in try await body(view, node) }, then: then)
  }

  /// Asks for a session.
  func callForSession(
    _ tenant: Tenant, _ wanted: SessionSpecification,
    then: @escaping @Sendable (Result<TransferSession, any Error>) -> Void
  ) {
    ask(
      tenant, about: .newSession(name: wanted.identifier, key: nil), lost: nil,
      { view, _, entry in
        try await view.createSession(wanted, in: entry?.shard) { _, _ in nil }.session
      }, then: then)
  }

  private func ask<Value: Sendable>(
    _ tenant: Tenant, about subject: Subject?, lost: (() -> Void)?,
    _ body: @escaping @Sendable (TenantView, ServiceNode, Cluster.Entry?) async throws -> Value,
    then: @escaping @Sendable (Result<Value, any Error>) -> Void
  ) {
    guard let contact = contact() else { return }
    let outcome = Outcome<Value>()
    errandCount += 1
    let errand = Errand(errandCount, contact, lost) { node, entry in
      outcome.value = try await body(node.process.service.view(of: tenant), node, entry)
    }
    (errand.tenant, errand.subject) = (tenant, subject)
    errands.append(errand)
    contact.calls += 1
    executor.spawn { [self] in
      let result: Result<Value, any Error>
      do {
        try await carryOut(errand)
        guard let value = outcome.value else { throw errand.fault ?? Self.noReply }
        result = .success(value)
      } catch let error as ClusterError {
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

  /// What came of a request.
  private final class Outcome<Value: Sendable>: @unchecked Sendable {
    var value: Value?
  }

  private static let noReply = ServiceError.storeUnavailable("no reply")

  /// One that a client reaches.
  private func contact() -> ServiceNode? {
    let open = services.filter(\.answers)
    return open.isEmpty ? nil : open[open.count == 1 ? 0 : route.below(open.count)]
  }

  private func carryOut(_ errand: Errand) async throws {
    guard errand.subject != nil else { return try await errand.carryOut(errand.contact, nil) }
    _ = try await carryOut(errand, at: errand.contact, isForwarded: false)
  }

  /// As the edge of a service does it.
  private func carryOut(
    _ errand: Errand, at node: ServiceNode, isForwarded: Bool
  ) async throws -> ServerResponse {
    guard let subject = errand.subject else { return ServerResponse(status: .badRequest) }
    let request = ServerRequest(
      head: HTTPRequest(method: .post, scheme: "http", authority: "world", path: nil), path: errand.path,
      query: "", body: RequestBody([]), localPort: 0)
    return try await node.process.service.cluster.route(
      request, about: subject, of: errand.tenant, isForwarded: isForwarded
    ) { entry in
      try await errand.carryOut(node, entry)
      return ServerResponse(status: .ok)
    }
  }

  /// Carries a request out that another service has forwarded.
  func carryOut(_ errand: Errand, forwardedTo node: ServiceNode) async -> ServerResponse {
    errand.server = node
    defer { errand.server = errand.contact }
    do {
      return try await carryOut(errand, at: node, isForwarded: true)
    } catch ClusterError.misdirected {
      return ServerResponse(status: .misdirectedRequest)
    } catch {
      errand.fault = (error as? ClusterError).map { ServiceError($0) } ?? error
      return ServerResponse(status: .internalServerError)
    }
  }

  /// The service of an address, where its socket can be reached.
  /// - Parameter sender: the address of the service that asks.
  func peer(_ address: String, of sender: String) -> ServiceNode? {
    guard !(services + lost).contains(where: { $0.address == sender && $0.isCutOff }) else { return nil }
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

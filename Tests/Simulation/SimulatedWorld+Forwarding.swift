internal import Cluster
internal import HTTPServer
internal import HTTPTypes
internal import TransferModel
internal import TransferService

/// The routing of requests to the services that own their subjects.
extension SimulatedWorld {
  /// Sends a client's request to one of the services. A reply comes unless that service, or the one it forwards to, ends first.
  /// - Parameters:
  ///   - subject: the subject of the request; `nil` if any service can execute it.
  ///   - lost: called instead of `then` if no reply will come.
  func call<Value: Sendable>(
    _ tenant: Tenant, about subject: RequestSubject?,
    _ body: @escaping @Sendable (TenantView, ServiceNode) async throws -> Value,
    lost: (() -> Void)? = nil, then: @escaping @Sendable (Result<Value, any Error>) -> Void
  ) {
    ask(tenant, about: subject, lost: lost, { view, node, _ in try await body(view, node) }, then: then)
  }

  /// Requests a new session.
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
    _ tenant: Tenant, about subject: RequestSubject?, lost: (() -> Void)?,
    _ body: @escaping @Sendable (TenantView, ServiceNode, Cluster.LocalRequest?) async throws -> Value,
    then: @escaping @Sendable (Result<Value, any Error>) -> Void
  ) {
    guard let contact = contact() else { return }
    let outcome = Outcome<Value>()
    errandCount += 1
    let errand = ClientCall(errandCount, contact, lost) { node, entry in
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

  /// The outcome of a request.
  private final class Outcome<Value: Sendable>: @unchecked Sendable {
    var value: Value?
  }

  private static let noReply = ServiceError.storeUnavailable("no reply")

  /// Returns a service that clients can reach.
  private func contact() -> ServiceNode? {
    let open = services.filter(\.answers)
    return open.isEmpty ? nil : open[open.count == 1 ? 0 : route.below(open.count)]
  }

  private func carryOut(_ errand: ClientCall) async throws {
    guard errand.subject != nil else { return try await errand.carryOut(errand.contact, nil) }
    _ = try await carryOut(errand, at: errand.contact, isForwarded: false)
  }

  /// Routes the request like the edge of a service.
  private func carryOut(
    _ errand: ClientCall, at node: ServiceNode, isForwarded: Bool
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

  /// Executes a request that another service has forwarded.
  func carryOut(_ errand: ClientCall, forwardedTo node: ServiceNode) async -> ServerResponse {
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

  /// Returns the service with an address, if its socket can be reached.
  /// - Parameter sender: the address of the requesting service.
  func peer(_ address: String, of sender: String) -> ServiceNode? {
    guard !(services + lost).contains(where: { $0.address == sender && $0.isCutOff }) else { return nil }
    return services.first { $0.address == address && $0.process.isServing && !$0.isCutOff && !$0.isLost }
  }

  /// Ends the requests that wait for a reply of a service that has ended.
  func loseErrands(of node: ServiceNode) {
    let gone = errands.filter { $0.contact === node || $0.server === node }
    errands.removeAll { $0.contact === node || $0.server === node }
    for errand in gone {
      errand.contact.calls -= 1
      errand.lost?()
    }
  }
}

internal import Cluster
internal import HTTPServer
internal import HTTPTypes
internal import TransferModel
internal import TransferService

/// A service's connections to the other services of a world. For one thread.
struct SimulatedPeers: PeerConnections, @unchecked Sendable {
  weak var world: SimulatedWorld?
  /// The service that sends.
  let address: String

  /// The services that requests wait for. Requests to dead services end separately (`loseErrands`).
  var addresses: [String] { [] }
  func cancel(_ address: String) {}

  func send(
    _ request: ServerRequest, _ fields: HTTPFields, body: [UInt8]?, to address: String
  ) async throws(PeerFailure) -> ServerResponse {
    guard let world, let node = world.peer(address, of: self.address) else { throw .unreachable }
    if let errand = world.errands.first(where: { $0.path == request.path }) {
      // A frozen service may or may not execute the request after it wakes.
      if node.isFrozen, world.route.chance(500) { throw .lost("no reply") }
      return await world.carryOut(errand, forwardedTo: node)
    }
    guard !node.isFrozen, case .query(let answer) = await node.process.service.cluster.receive(request)
    else { throw .lost("no reply") }
    return answer
  }

  /// Simulated clients request no lists.
  func fetch(
    _ request: ServerRequest, _ fields: HTTPFields, body: [UInt8], upTo limit: Int, from address: String
  ) async throws(PeerFailure) -> (fields: HTTPFields, bytes: [UInt8]) {
    throw .unreachable
  }
}

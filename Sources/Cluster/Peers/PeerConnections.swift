package import HTTPServer
package import HTTPTypes

/// The connections of a service to the others, by their addresses.
package protocol PeerConnections: Sendable {
  /// Sends a request; returns once the head of its reply has arrived.
  /// - Parameters:
  ///   - fields: replace the request's own.
  ///   - body: the request's body, if it was read already; nil: it is read now.
  func send(
    _ request: ServerRequest, _ fields: HTTPFields, body: [UInt8]?, to address: String
  ) async throws(PeerFailure) -> ServerResponse

  /// Sends a request without a body; returns the whole reply.
  /// - Parameter limit: of the reply's body, in bytes.
  func fetch(
    _ request: ServerRequest, _ fields: HTTPFields, upTo limit: Int, from address: String
  ) async throws(PeerFailure) -> (fields: HTTPFields, bytes: [UInt8])

  /// The addresses from which replies are awaited.
  var addresses: [String] { get }

  /// Ends the requests to a service that is dead or frozen.
  func abandon(_ address: String)
}

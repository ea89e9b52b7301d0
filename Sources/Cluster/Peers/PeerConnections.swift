package import HTTPServer
package import HTTPTypes

/// The connections of a service to the others, by address.
package protocol PeerConnections: Sendable {
  /// Sends a request and returns when the head of its response has arrived.
  /// - Parameters:
  ///   - fields: the header fields to send, instead of the request's own.
  ///   - body: the request's body, if it was read already; `nil` to read it now.
  func send(
    _ request: ServerRequest, _ fields: HTTPFields, body: [UInt8]?, to address: String
  ) async throws(PeerFailure) -> ServerResponse

  /// Sends a request and returns the whole response.
  /// - Parameter limit: the limit for the response's body, in bytes.
  func fetch(
    _ request: ServerRequest, _ fields: HTTPFields, body: [UInt8], upTo limit: Int, from address: String
  ) async throws(PeerFailure) -> (fields: HTTPFields, bytes: [UInt8])

  /// The addresses of services whose responses are awaited.
  var addresses: [String] { get }

  /// Ends the requests to a service that is dead or frozen.
  func cancel(_ address: String)
}

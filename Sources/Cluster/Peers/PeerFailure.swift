/// The reason why another service sent no response.
package enum PeerFailure: Error, Sendable {
  /// No connection was made, so the service has not received the request.
  case unreachable
  /// The connection was lost. The service may have carried out the request.
  case lost(String)
}

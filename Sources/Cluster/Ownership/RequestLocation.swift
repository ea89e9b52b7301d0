internal import Ledger

/// The service that carries out a request.
enum RequestLocation: Sendable {
  /// This service. If there is a shard, the caller must release it at the end.
  case here(Shard?)
  /// This service, because no other takes part. If the subject is not found, `RequestLocator.mayBeAtPeer` checks whether another service
  /// has joined meanwhile.
  case singleNode
  /// Another service, by its address.
  case peer(String)
  /// Unknown, because no row has the subject. It does not exist, or it is ephemeral and in another service's memory.
  case unknown
}

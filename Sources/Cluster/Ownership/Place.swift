internal import Ledger

/// The service that carries a request out.
enum Place: Sendable {
  /// This one. The caller must leave the shard at the end, if there is one.
  case here(Shard?)
  /// This one, as far as is known: no other service takes part. If it does not find the subject, `RequestLocator.mayBeElsewhere` says
  /// whether that is still so.
  case alone
  /// Another one, by its address.
  case elsewhere(String)
  /// The subject is in no row: it is ephemeral and in another service's memory, or it does not exist.
  case unknown
}

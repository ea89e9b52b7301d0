/// The columns with single secrets, each sealed alone, as text.
package enum SealedText: CaseIterable, Sendable {
  case credential, cookie, deliverySecret
  /// The documents in the queues between service and worker.
  case command, work, news
  case keyCheck

  var place: ColumnReference {
    switch self {
    case .credential: ColumnReference(.credential, .sealed)
    case .cookie: ColumnReference(.cookie, .sealed)
    case .deliverySecret: ColumnReference(.delivery, .secret)
    case .command: ColumnReference(.command, .sealed)
    case .work: ColumnReference(.work, .sealed)
    case .news: ColumnReference(.news, .sealed)
    case .keyCheck: ColumnReference(.keyCheck, .sealed)
    }
  }

  /// `table.column`.
  package var name: String { place.name }
}

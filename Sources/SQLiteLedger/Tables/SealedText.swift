/// The columns that hold single secrets: each is sealed by itself, as text.
package enum SealedText: CaseIterable, Sendable {
  case credential, cookie, deliverySecret
  /// Documents of the two processes, in their own words.
  case command, work, news
  case keyCheck

  var place: ColumnPlace {
    switch self {
    case .credential: ColumnPlace(.credential, .sealed)
    case .cookie: ColumnPlace(.cookie, .sealed)
    case .deliverySecret: ColumnPlace(.delivery, .secret)
    case .command: ColumnPlace(.command, .sealed)
    case .work: ColumnPlace(.work, .sealed)
    case .news: ColumnPlace(.news, .sealed)
    case .keyCheck: ColumnPlace(.keyCheck, .sealed)
    }
  }

  /// `table.column`.
  package var name: String { place.name }
}

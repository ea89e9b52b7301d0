/// Columns with data of clients and origins. Each value is sealed as a whole, under the name of its column.
enum DocumentKind: Int, CaseIterable, Sendable {
  case session, configuration, specification, requestBody, outcome, metrics, stream, payload, arguments
  case answer, reply
  case smallBody, deliveryURL, deliveryError, fileType, replyKey, replyLocation, configurationName

  var place: ColumnPlace {
    switch self {
    case .session: ColumnPlace(.session, .document)
    case .configuration: ColumnPlace(.configuration, .document)
    case .specification: ColumnPlace(.task, .specification)
    case .requestBody: ColumnPlace(.task, .requestBody)
    case .outcome: ColumnPlace(.task, .outcome)
    case .metrics: ColumnPlace(.task, .metrics)
    case .stream: ColumnPlace(.journal, .stream)
    case .payload: ColumnPlace(.delivery, .payload)
    case .arguments: ColumnPlace(.decision, .arguments)
    case .answer: ColumnPlace(.decision, .answer)
    case .reply: ColumnPlace(.idempotency, .body)
    case .smallBody: ColumnPlace(.task, .smallBody)
    case .deliveryURL: ColumnPlace(.delivery, .url)
    case .deliveryError: ColumnPlace(.delivery, .lastError)
    case .fileType: ColumnPlace(.file, .contentType)
    case .replyKey: ColumnPlace(.idempotency, .name)
    case .replyLocation: ColumnPlace(.idempotency, .location)
    case .configurationName: ColumnPlace(.configuration, .name)
    }
  }

  var column: StoredColumn { place.column }

  /// Authenticated with the document: it never changes.
  var name: String { Self.names[rawValue] }
  private static let names = allCases.map(\.place.name)

  /// Whether it is made smaller before it is sealed: what Ferry writes itself says much that all of its kind say.
  var isCompressed: Bool {
    switch self {
    case .session, .configuration, .specification, .outcome, .metrics, .stream, .payload, .arguments, .answer,
      .reply:
      true
    case .requestBody, .smallBody, .deliveryURL, .deliveryError, .fileType, .replyKey, .replyLocation,
      .configurationName:
      false
    }
  }
}

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

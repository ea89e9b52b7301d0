internal import Records

/// The columns that hold sealed documents: data of clients and origins. Each value is sealed as a whole, under the name of its column.
enum SealedDocument: Int, CaseIterable, Sendable {
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

  /// `table.column`.
  var name: String { kind.name }

  /// How the column's values are sealed. The name of the column is authenticated with them, so it never changes.
  var kind: DocumentKind { Self.kinds[rawValue] }
  private static let kinds = allCases.map {
    DocumentKind($0.place.name, compressionLimit: $0.isCompressed ? DocumentKind.maximumSize : 0)
  }

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

internal import Records

/// The columns with sealed documents, which hold data of clients and origins. Each value is sealed whole, under its column's name.
enum SealedDocument: Int, CaseIterable, Sendable {
  case session, configuration, specification, requestBody, outcome, metrics, stream, payload, arguments
  case answer, reply
  case attempts, endpoint
  case smallBody, deliveryURL, deliveryError, fileType, replyKey, replyLocation, configurationName
  case groupName, groupCounts, eventTags

  var place: ColumnReference {
    switch self {
    case .session: ColumnReference(.session, .document)
    case .configuration: ColumnReference(.configuration, .document)
    case .specification: ColumnReference(.task, .specification)
    case .requestBody: ColumnReference(.task, .requestBody)
    case .outcome: ColumnReference(.task, .outcome)
    case .metrics: ColumnReference(.task, .metrics)
    case .stream: ColumnReference(.journal, .stream)
    case .payload: ColumnReference(.delivery, .payload)
    case .attempts: ColumnReference(.delivery, .history)
    case .endpoint: ColumnReference(.endpoint, .document)
    case .arguments: ColumnReference(.decision, .arguments)
    case .answer: ColumnReference(.decision, .answer)
    case .reply: ColumnReference(.idempotency, .body)
    case .smallBody: ColumnReference(.task, .smallBody)
    case .deliveryURL: ColumnReference(.delivery, .url)
    case .deliveryError: ColumnReference(.delivery, .lastError)
    case .fileType: ColumnReference(.file, .contentType)
    case .replyKey: ColumnReference(.idempotency, .name)
    case .replyLocation: ColumnReference(.idempotency, .location)
    case .configurationName: ColumnReference(.configuration, .name)
    case .groupName: ColumnReference(.taskGroup, .name)
    case .groupCounts: ColumnReference(.taskGroup, .counts)
    case .eventTags: ColumnReference(.journal, .tags)
    }
  }

  var column: StoredColumn { place.column }

  /// `table.column`.
  var name: String { kind.name }

  /// The seal of the column's values. The seal authenticates the column's name, which therefore never changes.
  var kind: DocumentKind { Self.kinds[rawValue] }
  private static let kinds = allCases.map {
    DocumentKind($0.place.name, compressionLimit: $0.isCompressed ? DocumentKind.maximumSize : 0)
  }

  /// Whether the document is compressed before it is sealed. Documents that Ferry writes itself have much text in common.
  var isCompressed: Bool {
    switch self {
    case .session, .configuration, .specification, .outcome, .metrics, .stream, .payload, .attempts,
      .endpoint, .arguments, .answer, .reply:
      true
    case .requestBody, .smallBody, .deliveryURL, .deliveryError, .fileType, .replyKey, .replyLocation,
      .configurationName, .groupName, .groupCounts, .eventTags:
      false
    }
  }
}

internal import TransferModel

/// As it is handed on within the service: bytes as base64; a file only says that it is one.
extension TransferOutcome.Body: Codable {
  /// No base64.
  private static let fileMark = "(file)"

  package init(from decoder: any Decoder) throws {
    let container = try decoder.singleValueContainer()
    let text = try container.decode(String.self)
    if text == Self.fileMark {
      self = .file
    } else if let bytes = Base64.decode(text) {
      self = .memory(bytes)
    } else {
      throw DecodingError.dataCorruptedError(in: container, debugDescription: "not base64")
    }
  }

  package func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    switch self {
    case .memory(let bytes): try container.encode(Base64.encode(bytes))
    case .file: try container.encode(Self.fileMark)
    }
  }
}

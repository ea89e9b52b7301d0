/// As it is kept and handed on within the service: bytes as base64.
extension RequestContent: Codable {
  private enum CodingKeys: String, CodingKey { case data, spooled, file, size }

  package init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    if let text = try container.decodeIfPresent(String.self, forKey: .data) {
      guard let bytes = Base64.decode(text) else {
        throw DecodingError.dataCorruptedError(
          forKey: .data, in: container, debugDescription: "not base64")
      }
      self = .data(bytes)
    } else if let body = try container.decodeIfPresent(SpooledBody.self, forKey: .spooled) {
      self = .spooled(body)
    } else if let file = try container.decodeIfPresent(FileID.self, forKey: .file) {
      self = .file(file, size: try container.decode(Int64.self, forKey: .size))
    } else {
      self = .stream
    }
  }

  package func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: CodingKeys.self)
    switch self {
    case .data(let bytes): try container.encode(Base64.encode(bytes), forKey: .data)
    case .spooled(let body): try container.encode(body, forKey: .spooled)
    case .file(let id, let size):
      try container.encode(id, forKey: .file)
      try container.encode(size, forKey: .size)
    case .stream: break
    }
  }
}

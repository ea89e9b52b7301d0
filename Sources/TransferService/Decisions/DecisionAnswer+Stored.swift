internal import EngineAPI
internal import HTTPFields
internal import JSON
internal import TransferCore
internal import TransferModel

extension DecisionAnswer {
  /// The answer as stored and shown: without secrets, and equal for equal answers.
  func stored(_ value: JSONValue) -> [UInt8] {
    switch self {
    case .challenge(.answer(.useCredential(let credential))):
      var writer = JSONWriter()
      writer.object { writer in
        writer.field("disposition", "useCredential")
        writer.field("credential", Optional(credential))
      }
      return writer.bytes
    case .redirect, .delayed:
      return value.replacing { $0 == "request" ? $1.redacted(using: request) : $1 }.json
    case .challenge, .response, .caching: return value.json
    }
  }
}

extension JSONValue {
  /// A client's request without its credentials, and without a body that is in a file.
  fileprivate func redacted(using request: TransferRequest?) -> JSONValue {
    let secrets = request?.secretHeaderFields ?? []
    return replacing { name, value in
      switch name {
      case "url":
        guard let text = value.string, let parsed = try? OriginURL.parse(text), parsed.credential != nil
        else {
          return value
        }
        return .string(parsed.url)
      case "headers":
        return value.replacing { name, value in
          HTTPHeaders.isSecret(name: name, and: secrets) ? .string(HTTPHeaders.redaction) : value
        }
      case "body":
        guard let body = request?.body?.spooled else { return value }
        return .object([Member(name: "size", value: .integer(body.size))])
      default: return value
      }
    }
  }

  /// Replaces the values of an object's members. Other values are returned unchanged.
  fileprivate func replacing(_ change: (String, JSONValue) -> JSONValue) -> JSONValue {
    guard let members else { return self }
    return .object(members.map { Member(name: $0.name, value: change($0.name, $0.value)) })
  }
}

package import JSON

extension Webhook {
  /// Reads `url` and `secret`; the caller checks the URL with the parser that will use it.
  package init?(validating reader: inout ObjectReader) {
    guard let url = reader.string("url") else {
      if reader.value("url") == nil { reader.reject("url", "is required") }
      return nil
    }
    let secret = reader.string("secret")
    if let secret, Self.key(of: secret) == nil {
      reader.reject("secret", "must be whsec_ and the base64 of 24 to 64 bytes")
    }
    self.init(url: url, secret: secret)
  }

  /// The bytes of a Standard Webhooks secret: `whsec_` and base64 of 24 to 64 bytes.
  package static func key(of secret: String) -> [UInt8]? {
    guard secret.hasPrefix("whsec_"), let key = Base64.decode(secret.dropFirst(6)) else { return nil }
    return (24...64).contains(key.count) ? key : nil
  }
}

extension SessionDelegate {
  /// Reads the contract's delegate. Calls that wait for an answer are not available in this version.
  package init(validating reader: inout ObjectReader) {
    self.init()
    let calls = [
      ("sessionChallenges", "default"), ("taskChallenges", "default"), ("redirects", "follow"),
      ("responses", "allow"), ("caching", "default"), ("delayedRequests", "continue"),
    ]
    for (name, only) in calls {
      guard let text = reader.string(name) else { continue }
      if text == "ask" {
        reader.reject(name, "\"ask\" is not available in this version")
      } else if text != only {
        reader.reject(name, "must be one of ask, \(only)")
      }
    }
    _ = reader.number("decisionTimeout", in: 0.001...31_536_000)
    if var hook = reader.object("webhook") {
      webhook = Webhook(validating: &hook)
      events = Self.readEvents(&hook)
      if hook.bool("answers") == true { hook.reject("answers", "is not available in this version") }
      hook.finish()
    }
    reader.finish()
  }

  private static func readEvents(_ reader: inout ObjectReader) -> [EventType] {
    guard let names = reader.strings("events") else { return [.taskDidComplete] }
    var types: [EventType] = []
    for (index, name) in names.enumerated() {
      guard let type = EventType(rawValue: name), type != .eventsDidReset else {
        reader.reject("events", element: index, "unknown event type '\(name)'")
        continue
      }
      guard !type.isProgress else {
        reader.reject("events", element: index, "progress is not sent to webhooks; read the event stream")
        continue
      }
      types.append(type)
    }
    return types
  }
}

extension Webhook {
  /// The webhook as lists show it: without user info, query and fragment, which often contain secrets.
  package var listed: Webhook {
    var webhook = self
    webhook.url = Self.listed(url)
    return webhook
  }

  /// Returns a URL without user info, query and fragment.
  package static func listed(_ url: String) -> String {
    var rest = url.prefix { $0 != "?" && $0 != "#" }
    if let start = rest.firstRange(of: "://")?.upperBound {
      let authority = rest[start...].prefix { $0 != "/" }
      if let at = authority.lastIndex(of: "@") { rest.removeSubrange(start...at) }
    }
    return String(rest)
  }
}

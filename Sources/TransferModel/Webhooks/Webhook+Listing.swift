extension Webhook {
  /// As lists show it: without user info, query and fragment, in which many receivers have a secret.
  package var listed: Webhook {
    var rest = url.prefix { $0 != "?" && $0 != "#" }
    if let start = rest.firstRange(of: "://")?.upperBound {
      let authority = rest[start...].prefix { $0 != "/" }
      if let at = authority.lastIndex(of: "@") { rest.removeSubrange(start...at) }
    }
    return Webhook(url: String(rest), secret: secret)
  }
}

internal import HTTPFields
package import JSON
internal import Limits

extension WebhookEndpoint.Settings {
  /// Reads the members that clients set, over the present ones. The caller checks the URL with the parser that will use it.
  /// - Parameter known: the present settings; `nil` for a new endpoint.
  package init?(validating reader: inout ObjectReader, over known: Self? = nil) {
    reader.allowNull("description", "maximumPerSecond")
    let url = reader.string("url", upTo: Limits.urlBytes.value)
    guard let url = url ?? known?.url else {
      if reader.isMissing("url") { reader.reject("url", "is required") }
      return nil
    }
    self = known ?? Self(url: url)
    self.url = url
    if reader.isNull("description") { description = nil }
    description = reader.string("description", upTo: Limits.descriptionBytes.value) ?? description
    if let events = SessionDelegate.readEvents(&reader) { self.events = events }
    order = reader.choice("order") ?? order
    if known == nil { signature = reader.choice("signature") ?? .v1 }
    readHeaders(&reader, known)
    maximumConcurrency =
      reader.integer("maximumConcurrency", in: 1...Limits.endpointConcurrency.value) ?? maximumConcurrency
    if reader.isNull("maximumPerSecond") { maximumPerSecond = nil }
    maximumPerSecond = reader.number("maximumPerSecond", in: 0.01...10_000) ?? maximumPerSecond
  }

  /// Fields that Ferry sets itself.
  private static let ownFields = [
    "webhook-id", "webhook-timestamp", "webhook-signature", "content-type", "content-length", "host",
    "transfer-encoding", "connection", "expect",
  ]

  private mutating func readHeaders(_ reader: inout ObjectReader, _ known: Self?) {
    guard let value = reader.value("headers") else { return }
    let pointer = reader.pointer(to: "headers")
    headers = HTTPHeaders(validating: value, at: pointer, reader.violations)
    for name in headers.restoreSecrets(of: known?.headers ?? HTTPHeaders()) {
      reader.violations.add(
        JSONPointer.appending(name, to: pointer),
        "is redacted, and Ferry has no value for it; send the value")
    }
    for field in headers.fields where Self.ownFields.contains(where: { HTTPHeaders.equal($0, field.name) }) {
      reader.violations.add(
        JSONPointer.appending(field.name, to: pointer), "is set by Ferry; leave it out")
    }
    if headers.fields.count > Limits.endpointFields.value {
      reader.exceed(
        "headers", "must have at most \(Limits.endpointFields.value) fields, not \(headers.fields.count)")
    }
  }
}

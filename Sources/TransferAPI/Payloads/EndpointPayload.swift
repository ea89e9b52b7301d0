internal import HTTPFields
internal import JSON
internal import Limits
internal import TransferModel
internal import TransferService

/// The bodies of requests about webhook endpoints.
enum EndpointPayload {
  /// The longest time in seconds for which a replaced key still signs.
  private static let longestOverlap = 30 * 86_400.0
  private static let usualOverlap = 86_400.0

  /// Reads a new endpoint.
  static func endpoint(
    _ value: JSONValue, _ view: TenantView
  ) throws(Problem) -> (settings: WebhookEndpoint.Settings, secret: [UInt8]?) {
    let violations = Violations()
    var reader = ObjectReader(value, at: "", violations)
    let settings = WebhookEndpoint.Settings(validating: &reader)
    let secret = readSecret(&reader, of: settings?.signature ?? .v1)
    reader.finish()
    try check(settings, view, violations)
    guard let settings else { throw Problem(violations) }
    return (settings, secret)
  }

  /// Reads a merge patch (RFC 7396) of an endpoint.
  static func change(
    _ value: JSONValue, of known: WebhookEndpoint, _ view: TenantView
  ) throws(Problem) -> WebhookEndpoint {
    let violations = Violations()
    var reader = ObjectReader(value, at: "", violations)
    var present = known.settings
    let url = reader.string("url") ?? present.url
    if !TransferService.isSameOrigin(url, present.url) {
      // A secret of one origin is not sent to another.
      let hasSecrets = present.headers.redacted() != present.headers
      present.headers.removeSecrets()
      if hasSecrets, reader.value("headers") == nil {
        reader.reject(
          "headers", "is required if url has another origin, because the present fields contain secrets")
      }
    }
    let settings = WebhookEndpoint.Settings(validating: &reader, over: present)
    var endpoint = known
    switch reader.string("state") {
    case "enabled": (endpoint.disabledReason, endpoint.failingSince) = (nil, nil)
    case "disabled": endpoint.disabledReason = known.disabledReason ?? "a client disabled the endpoint"
    case nil: break
    case let text?: reader.reject("state", "must be enabled or disabled, not '\(text)'")
    }
    reader.finish(explaining: [
      "signature": "cannot be changed; create another endpoint",
      "secret": "cannot be changed here; use POST …/rotate-secret",
    ])
    try check(settings, view, violations)
    if let settings { endpoint.settings = settings }
    return endpoint
  }

  /// Reads a rotation of the secret.
  static func rotation(
    _ value: JSONValue, of scheme: SignatureScheme
  ) throws(Problem) -> (secret: [UInt8]?, overlap: Double) {
    let violations = Violations()
    var reader = ObjectReader(value, at: "", violations)
    let overlap = reader.number("overlap", in: 0...longestOverlap) ?? usualOverlap
    let secret = readSecret(&reader, of: scheme)
    reader.finish()
    guard violations.isEmpty else { throw Problem(violations) }
    return (secret, overlap)
  }

  private static func readSecret(_ reader: inout ObjectReader, of scheme: SignatureScheme) -> [UInt8]? {
    guard let text = reader.string("secret") else { return nil }
    guard scheme == .v1 else {
      reader.reject("secret", "must be left out for the signature v1a, whose key Ferry makes")
      return nil
    }
    let key = Webhook.key(of: text)
    if key == nil { reader.reject("secret", "must be whsec_ and the base64 of 24 to 64 bytes") }
    return key
  }

  private static func check(
    _ settings: WebhookEndpoint.Settings?, _ view: TenantView, _ violations: Violations
  ) throws(Problem) {
    if let settings, let fault = TransferService.fault(ofURL: settings.url) {
      violations.add("/url", fault.message)
    }
    guard violations.isEmpty else { throw Problem(violations) }
    if let settings { try view.checkEgress(of: [(Webhook(url: settings.url, secret: nil), "/url")]) }
  }
}

/// The selection of deliveries to send again.
struct RedeliveryPayload {
  var endpoint: EndpointID?
  var task: TaskID?
  var state = WebhookDelivery.State.failed
  var since: Timestamp?

  init(_ value: JSONValue) throws(Problem) {
    let violations = Violations()
    var reader = ObjectReader(value, at: "", violations)
    if let text = reader.string("endpoint") {
      endpoint = EndpointID(text)
      if endpoint == nil { reader.reject("endpoint", "must be the id of an endpoint, not '\(text)'") }
    }
    if let text = reader.string("task") {
      task = TaskID(text)
      if task == nil { reader.reject("task", "must be the id of a task, not '\(text)'") }
    }
    state = reader.choice("state") ?? .failed
    since = reader.timestamp("since")
    reader.finish()
    if endpoint == nil, task == nil, since == nil, reader.isMissing("state") {
      violations.exceed(
        "",
        "names no deliveries; give since, endpoint, task or state, such as {\"state\": \"failed\"} for all failed ones"
      )
    }
    guard violations.isEmpty else { throw Problem(violations) }
  }
}

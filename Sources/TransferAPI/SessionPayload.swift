internal import JSON
internal import TransferModel
internal import TransferService

/// What a client sends to create a session.
struct SessionPayload {
  var description: String?
  var configuration = SessionConfiguration()
  var delegate: SessionDelegate?

  init(_ value: JSONValue) throws(Problem) {
    let violations = Violations()
    var reader = ObjectReader(value, at: "", violations)
    if let type = reader.string("type"), type != "default" {
      let known = ["ephemeral", "background"].contains(type)
      reader.reject(
        "type",
        known ? "'\(type)' is not available in this version" : "must be one of default, ephemeral, background"
      )
    }
    if reader.value("identifier") != nil { reader.reject("identifier", "is for background sessions only") }
    description = reader.string("description")
    if var properties = reader.object("configuration") {
      configuration = SessionConfiguration(validating: &properties)
      if let roots = configuration.tlsAdditionalRootCertificates,
        let fault = TransferService.fault(ofRoots: roots)
      {
        properties.reject("tlsAdditionalRootCertificates", fault)
      }
    }
    if var calls = reader.object("delegate") {
      delegate = SessionDelegate(validating: &calls)
      WebhookPayload.check(delegate?.webhook, at: "/delegate/webhook/url", violations)
    }
    reader.finish()
    guard violations.all.isEmpty else { throw Problem(.invalidRequest, violations: violations.all) }
  }
}

enum WebhookPayload {
  /// Refuses a webhook whose URL cannot be posted to.
  static func check(_ webhook: Webhook?, at pointer: String, _ violations: Violations) {
    guard let webhook, let fault = TransferService.fault(ofURL: webhook.url) else { return }
    violations.add(pointer, fault.message)
  }
}

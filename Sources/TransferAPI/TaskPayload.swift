internal import JSON
internal import TransferModel
internal import TransferService

/// What a client sends to create a task.
enum TaskPayload {
  /// The specification, or everything that is wrong with it.
  static func specification(_ value: JSONValue) throws(Problem) -> TaskSpecification {
    let violations = Violations()
    var reader = ObjectReader(value, at: "", violations)
    let kind = value.members == nil ? nil : readKind(&reader)
    if reader.value("resumeData") != nil { reader.reject("resumeData", "is not available in this version") }
    var request = TransferRequest(url: "")
    if var fields = reader.object("request") {
      request = readRequest(&fields)
    } else if value.members != nil {
      reader.reject("request", "is required")
    }
    var specification = TaskSpecification(kind: kind ?? .data, request: request)
    specification.resume = reader.bool("resume") ?? false
    specification.priority = reader.number("priority", in: 0...1) ?? 0.5
    specification.description = reader.string("description")
    if reader.value("earliestBeginDate") != nil {
      reader.reject("earliestBeginDate", "is for background sessions only")
    }
    specification.completion = readCompletion(&reader)
    reader.finish()
    guard violations.all.isEmpty else { throw Problem(.invalidRequest, violations: violations.all) }
    return specification
  }

  private static func readKind(_ reader: inout ObjectReader) -> TaskKind? {
    guard let text = reader.string("kind") else {
      if reader.value("kind") == nil { reader.reject("kind", "is required") }
      return nil
    }
    if let kind = TaskKind(rawValue: text) { return kind }
    reader.reject(
      "kind",
      text == "upload" ? "'upload' is not available in this version" : "must be one of data, download, upload"
    )
    return nil
  }

  private static func readRequest(_ reader: inout ObjectReader) -> TransferRequest {
    var request = TransferRequest(url: "")
    if let url = reader.string("url") {
      request.url = url
      if let fault = TransferService.fault(ofURL: url) {
        reader.reject("url", "\(fault.message) (\(fault.domain) \(fault.code) \(fault.name))")
      }
    } else if reader.value("url") == nil {
      reader.reject("url", "is required")
    }
    if let method = reader.string("method") {
      request.method = method
      if !HTTPHeaders.isValid(name: method) || ["CONNECT", "TRACE"].contains(method.uppercased()) {
        reader.reject("method", "is not a method that can be sent")
      }
    }
    if let headers = reader.value("headers") {
      request.headers = HTTPHeaders(validating: headers, at: reader.pointer(to: "headers"), reader.violations)
    }
    request.body = readBody(&reader)
    request.timeoutInterval = reader.number("timeoutInterval", in: 0.001...31_536_000)
    refuseUnavailable(&reader)
    reader.finish()
    return request
  }

  private static func readBody(_ reader: inout ObjectReader) -> [UInt8]? {
    guard var body = reader.object("body") else { return nil }
    let text = body.string("text").map { Array($0.utf8) }
    let base64 = body.string("base64")
    for name in ["file", "stream"] where body.value(name) != nil {
      body.reject(name, "is not available in this version")
    }
    body.finish()
    let decoded = base64.flatMap { Base64.decode($0) }
    if base64 != nil, decoded == nil { body.reject("base64", "is not base64 (RFC 4648 §4)") }
    if text != nil, base64 != nil { reader.reject("body", "takes one of text, base64") }
    return text ?? decoded
  }

  private static func refuseUnavailable(_ reader: inout ObjectReader) {
    let defaults: [(String, JSONValue)] = [
      ("cachePolicy", .string("useProtocolCachePolicy")), ("httpShouldHandleCookies", .bool(true)),
      ("mainDocumentURL", .null), ("allowsCellularAccess", .bool(true)),
    ]
    for (name, only) in defaults {
      guard let value = reader.value(name), value != only else { continue }
      reader.reject(name, "is not available in this version")
    }
  }

  private static func readCompletion(_ reader: inout ObjectReader) -> Webhook? {
    guard var completion = reader.object("completion") else { return nil }
    defer { completion.finish() }
    guard var fields = completion.object("webhook") else {
      completion.reject("webhook", "is required")
      return nil
    }
    let webhook = Webhook(validating: &fields)
    fields.finish()
    WebhookPayload.check(webhook, at: fields.pointer(to: "url"), reader.violations)
    return webhook
  }
}

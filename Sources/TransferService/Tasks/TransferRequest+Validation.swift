internal import EngineAPI
internal import HTTPFields
package import JSON
internal import Limits
package import TransferModel

extension TransferRequest {
  /// Reads a request as defined by `openapi.yaml`.
  /// - Parameter shown: in the answer to a decision, the request that the delegate received. The answer may keep members that
  ///   were redacted: the body's bytes and secrets.
  package init(
    validating reader: inout ObjectReader, defaultMethod: String, keeping shown: TransferRequest? = nil
  ) {
    self.init(url: "", method: defaultMethod)
    reader.allowNull("body", "mainDocumentURL")
    if let read = Self.readURL(&reader) {
      (url, credential) = read
    } else if reader.isMissing("url") {
      reader.reject("url", "is required")
    }
    if let method = reader.string("method", upTo: Limits.methodBytes.value) {
      self.method = Self.normalized(method)
      if !HTTPHeaders.isValid(name: method) || ["CONNECT", "TRACE"].contains(method.uppercased()) {
        reader.reject(
          "method", "'\(method)' is not supported; use an HTTP method other than CONNECT and TRACE")
      }
    }
    if let headers = reader.value("headers") {
      self.headers = HTTPHeaders(
        validating: headers, at: reader.pointer(to: "headers"), reader.violations,
        isOfStream: reader.value("body")?["stream"]?.bool == true)
    }
    body = Self.readBody(&reader, shown?.body)
    if let shown { restoreSecrets(of: shown) } else { refuseMarks(&reader) }
    timeoutInterval = reader.number("timeoutInterval", in: 0.001...31_536_000)
    readLoading(&reader)
    if let document = mainDocumentURL {
      if document.utf8.count > Limits.urlBytes.value {
        reader.exceed(
          "mainDocumentURL", "must have at most \(Limits.urlBytes.value) bytes, not \(document.utf8.count)")
      } else if let fault = OriginURL.fault(document) {
        reader.reject("mainDocumentURL", fault.message)
      }
    }
    reader.finish(explaining: UnsupportedNames.request)
  }

  /// Reads the URL, and the credential in it; `nil` if it is missing or invalid.
  static func readURL(_ reader: inout ObjectReader) -> (url: String, credential: Credential?)? {
    guard let url = reader.string("url", upTo: Limits.urlBytes.value) else { return nil }
    do throws(TransferError) { return try OriginURL.parse(url) } catch {
      reader.reject("url", "\(error.message) (\(error.domain) \(error.code) \(error.name))")
      return nil
    }
  }

  /// Methods are case-sensitive (RFC 9110 §9.1), but URLRequest and browsers take these in any case.
  private static func normalized(_ method: String) -> String {
    let standard = method.uppercased()
    return ["GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS"].contains(standard) ? standard : method
  }

  private mutating func restoreSecrets(of shown: TransferRequest) {
    let isSameOrigin = OriginURL.isSameOrigin(url, shown.url)
    if isSameOrigin, credential == nil { credential = shown.credential }
    secretHeaderFields = shown.secretHeaderFields
    // A credential for one origin is not sent to another origin if the delegate returns the request with a different URL.
    let known = isSameOrigin ? shown.headers : HTTPHeaders()
    _ = headers.restoreSecrets(of: known, and: secretHeaderFields ?? [])
  }

  /// Rejects the marks of redacted values. A new request has no earlier request to take the values from.
  private mutating func refuseMarks(_ reader: inout ObjectReader) {
    for name in headers.restoreSecrets(of: HTTPHeaders()) {
      reader.violations.add(
        JSONPointer.appending(name, to: reader.pointer(to: "headers")),
        "is redacted, and Ferry has no value for it; send the value")
    }
  }

  private static func readBody(
    _ reader: inout ObjectReader, _ keptBody: RequestContent?
  ) -> RequestContent? {
    guard var fields = reader.object("body") else { return nil }
    var contents: [RequestContent] = []
    if let text = fields.string("text") { contents.append(.data(Array(text.utf8))) }
    if let text = fields.string("base64") {
      let bytes = Base64.decode(text)
      if bytes == nil { fields.reject("base64", "is not base64 (RFC 4648 §4)") }
      contents.append(.data(bytes ?? []))
    }
    if let text = fields.string("file") {
      let id = FileID(text)
      if id == nil { fields.reject("file", "must be the id of a file, not '\(text)'") }
      contents.append(.file(id ?? FileID(high: 0, low: 0), size: 0))
    }
    if let isStream = fields.bool("stream") {
      if !isStream { fields.reject("stream", "must be true; leave it out if the body is not a stream") }
      contents.append(.stream)
    }
    if let keptBody, fields.integer("size", in: 0...Int.max) != nil,
      contents.isEmpty || contents.first?.file == keptBody.file
    {
      contents = [keptBody]
    }
    fields.finish()
    if contents.count > 1 { reader.reject("body", "must have only one of text, base64, file and stream") }
    return contents.first
  }
}

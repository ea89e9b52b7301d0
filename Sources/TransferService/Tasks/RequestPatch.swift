internal import EngineAPI
internal import HTTPFields
package import JSON
internal import TransferCore
internal import TransferModel

/// A client's change of a task's URL or header fields, before the values that it keeps are known.
package struct RequestPatch: Sendable {
  private var url: String?
  private var credential: Credential?
  /// `nil` keeps the fields.
  private var headers: HTTPHeaders?

  package init(url: String) { self.url = url }

  /// Reads the member `request` of a merge patch.
  package init(validating reader: inout ObjectReader) {
    if let read = TransferRequest.readURL(&reader) { (url, credential) = read }
    if let value = reader.value("headers") {
      headers = HTTPHeaders(validating: value, at: reader.pointer(to: "headers"), reader.violations)
    }
    if reader.isMissing("url"), reader.isMissing("headers"), reader.violations.isEmpty {
      reader.violations.add("/request", "must have url or headers")
    }
    let fixed = [
      "method", "body", "timeoutInterval", "cachePolicy", "httpShouldHandleCookies", "mainDocumentURL",
      "allowsCellularAccess", "allowsExpensiveNetworkAccess", "allowsConstrainedNetworkAccess",
      "networkServiceType",
    ]
    reader.finish(
      explaining: UnsupportedNames.request.merging(
        fixed.map { ($0, "cannot be changed; create another task") }
      ) { $1 })
  }

  /// Returns the change, with the kept values of the request in force.
  func change(of request: TransferRequest) throws(ServiceError) -> RequestChange {
    let target = url ?? request.url
    let isSameOrigin = OriginURL.isSameOrigin(target, request.url)
    let credential = credential ?? (isSameOrigin ? request.credential : nil)
    guard var fields = headers else {
      var kept = request.headers
      // As after a redirect to another origin (RFC 9110 §15.4).
      if !isSameOrigin { kept.removeSecrets(and: request.secretHeaderFields ?? []) }
      return RequestChange(url: target, headers: kept, credential: credential)
    }
    let unknown = fields.restoreSecrets(
      of: isSameOrigin ? request.headers : HTTPHeaders(), and: fields.fields.map(\.name))
    guard unknown.isEmpty else { throw .redactedFields(unknown, isSameOrigin: isSameOrigin) }
    // The length of a streamed body belongs to the body.
    if let length = request.declaredLength { fields.append("Content-Length", String(length)) }
    return RequestChange(url: target, headers: fields, credential: credential)
  }
}

package import HTTPFields
package import JSON

/// What to ask of an origin (URLRequest).
package struct TransferRequest: Sendable, Equatable {
  package var url: String
  package var method: String
  package var headers: HTTPHeaders
  package var body: RequestContent?
  /// Seconds without a byte moved; nil: the session's.
  package var timeoutInterval: Double?
  /// nil: the session's.
  package var cachePolicy: CachePolicy?
  /// Whether it carries cookies, and those that the answer sets are taken.
  package var httpShouldHandleCookies = true
  /// Of the document that the request is a part of; nil: it is the document itself.
  package var mainDocumentURL: String?
  package var networkAccess = NetworkAccess()
  /// nil: the session's, which is what `default` means as well.
  package var networkServiceType: NetworkServiceType?
  /// What its URL said of a user: moved out of it, and never shown.
  package var credential: Credential?
  /// Names of fields that are secret besides those that always are, as its session has them; nil: none.
  package var secretHeaderFields: [String]?

  package init(
    url: String, method: String = "GET", headers: HTTPHeaders = HTTPHeaders(), body: RequestContent? = nil,
    timeoutInterval: Double? = nil
  ) {
    self.url = url
    self.method = method
    self.headers = headers
    self.body = body
    self.timeoutInterval = timeoutInterval
  }
}

extension TransferRequest {
  /// Bytes of a streamed body, where the client has said so beforehand (its `Content-Length`).
  package var declaredLength: Int64? {
    body?.isStream == true ? headers.contentLength : nil
  }

  /// Bytes of its body: 0 without one, -1 where that is not known.
  package var bodyLength: Int64 { declaredLength ?? body?.length ?? 0 }

  /// Sent twice it means the same as once (RFC 9110 §9.2.2).
  package var isIdempotent: Bool {
    ["GET", "HEAD", "PUT", "DELETE", "OPTIONS", "TRACE"].contains(method)
  }
}

extension TransferRequest: JSONEncodable {
  /// The request as clients see it: the body's size in place of its bytes, and no secrets.
  package func encode(into writer: inout JSONWriter) {
    writer.object { writer in
      writer.field("url", url)
      writer.field("method", method)
      writer.field("headers", Optional(headers.redacted(and: secretHeaderFields ?? [])))
      if let timeoutInterval { writer.field("timeoutInterval", timeoutInterval) }
      if let body { writer.field("body", Optional(body)) }
      encodeLoading(into: &writer)
    }
  }

  /// What is not sent, but says how; without what is as it is by default.
  private func encodeLoading(into writer: inout JSONWriter) {
    if let cachePolicy { writer.field("cachePolicy", cachePolicy.rawValue) }
    if !httpShouldHandleCookies { writer.field("httpShouldHandleCookies", false) }
    if let mainDocumentURL { writer.field("mainDocumentURL", mainDocumentURL) }
    if networkAccess != NetworkAccess() { networkAccess.encodeMembers(into: &writer) }
    if let networkServiceType { writer.field("networkServiceType", networkServiceType.rawValue) }
  }

  /// Reads the members that are not sent, but say how.
  package mutating func readLoading(_ reader: inout ObjectReader) {
    cachePolicy = reader.choice("cachePolicy")
    httpShouldHandleCookies = reader.bool("httpShouldHandleCookies") ?? true
    mainDocumentURL = reader.string("mainDocumentURL")
    networkAccess = NetworkAccess(validating: &reader)
    networkServiceType = reader.choice("networkServiceType").flatMap { $0 == .default ? nil : $0 }
    reader.readDNSSEC()
  }
}

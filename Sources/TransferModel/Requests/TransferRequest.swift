package import HTTPFields
package import JSON

/// A request to an origin (URLRequest).
package struct TransferRequest: Sendable, Equatable {
  package var url: String
  package var method: String
  package var headers: HTTPHeaders
  package var body: RequestContent?
  /// Seconds without any transferred byte; `nil` for the session's value.
  package var timeoutInterval: Double?
  /// `nil` for the session's policy.
  package var cachePolicy: CachePolicy?
  /// Whether the request carries cookies, and the cookies of its response are stored.
  package var httpShouldHandleCookies = true
  /// The URL of the document that the request belongs to; `nil` if the request is for the document itself.
  package var mainDocumentURL: String?
  package var networkAccess = NetworkAccess()
  /// `nil` for the session's type. `default` is stored as `nil`, too.
  package var networkServiceType: NetworkServiceType?
  /// The user and password from the URL, which no longer contains them. Never shown to clients.
  package var credential: Credential?
  /// The session's names of additional secret header fields; `nil` if there are none.
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
  /// The length of a streamed body, if the client announced it with `Content-Length`.
  package var declaredLength: Int64? {
    body?.isStream == true ? headers.contentLength : nil
  }

  /// The length of the body in bytes: 0 without a body, -1 if unknown.
  package var bodyLength: Int64 { declaredLength ?? body?.length ?? 0 }

  /// Whether the method is idempotent: the effect of two requests is that of one (RFC 9110 §9.2.2).
  package var isIdempotent: Bool {
    ["GET", "HEAD", "PUT", "DELETE", "OPTIONS", "TRACE"].contains(method)
  }
}

extension TransferRequest: JSONEncodable {
  /// Writes the request as clients see it: the body's size instead of its bytes, and no secrets.
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

  /// Writes the members that are not sent but control the loading, except default values.
  private func encodeLoading(into writer: inout JSONWriter) {
    if let cachePolicy { writer.field("cachePolicy", cachePolicy.rawValue) }
    if !httpShouldHandleCookies { writer.field("httpShouldHandleCookies", false) }
    if let mainDocumentURL { writer.field("mainDocumentURL", mainDocumentURL) }
    if networkAccess != NetworkAccess() { networkAccess.encodeMembers(into: &writer) }
    if let networkServiceType { writer.field("networkServiceType", networkServiceType.rawValue) }
  }

  /// Reads the members that are not sent but control the loading.
  package mutating func readLoading(_ reader: inout ObjectReader) {
    cachePolicy = reader.choice("cachePolicy")
    httpShouldHandleCookies = reader.bool("httpShouldHandleCookies") ?? true
    mainDocumentURL = reader.string("mainDocumentURL")
    networkAccess = NetworkAccess(validating: &reader)
    networkServiceType = reader.choice("networkServiceType").flatMap { $0 == .default ? nil : $0 }
    reader.readDNSSEC()
  }
}

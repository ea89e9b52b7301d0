package import JSON

/// What to ask of an origin (URLRequest).
package struct TransferRequest: Sendable, Equatable {
  package var url: String
  package var method: String
  package var headers: HTTPHeaders
  package var body: RequestContent?
  /// Seconds without a byte moved; nil: the session's.
  package var timeoutInterval: Double?
  /// What its URL said of a user: moved out of it, and never shown.
  package var credential: Credential?

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

extension TransferRequest: JSONEncodable {
  /// The request as clients see it: the body's size in place of its bytes, and no secrets.
  package func encode(into writer: inout JSONWriter) {
    writer.object { writer in
      writer.field("url", url)
      writer.field("method", method)
      writer.field("headers", Optional(headers.redacted))
      if let timeoutInterval { writer.field("timeoutInterval", timeoutInterval) }
      if let body { writer.field("body", Optional(body)) }
    }
  }
}

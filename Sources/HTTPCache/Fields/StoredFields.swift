internal import HTTPDates
package import HTTPFields
package import TransferModel

/// The rules for stored header fields: which fields a cache keeps, and how a later response updates them (RFC 9111 §3.1 and §3.2).
package enum StoredFields {
  /// The fields that describe a connection or a proxy, and cookies, which a cache hit must not set again.
  private static let ofConnection = [
    "connection", "keep-alive", "proxy-connection", "te", "trailer", "transfer-encoding", "upgrade",
    "proxy-authenticate", "proxy-authentication-info", "proxy-authorization", "set-cookie", "set-cookie2",
  ]
  private static let omitted = CaselessNames(ofConnection)
  /// Whether the delegate cannot change a field of a response when it permits storing (`CachedURLResponse`). These fields are not stored,
  /// describe the stored bytes and their version, select the variant, or say when the response was made.
  package static func isFixed(_ name: String) -> Bool { fixed.contains(name) }
  private static let fixed = CaselessNames(
    ofConnection + describingBody + ["last-modified", "vary", "date", "age"])

  /// Returns the fields of a response, with all changeable fields replaced by the delegate's.
  package static func changed(_ headers: HTTPHeaders, to given: HTTPHeaders) -> HTTPHeaders {
    HTTPHeaders(headers.fields.filter { isFixed($0.name) } + given.fields.filter { !isFixed($0.name) })
  }

  /// The fields that describe the stored body (§3.2), and its entity tag: a weak tag does not become strong.
  private static let describingBody = ["content-length", "content-encoding", "content-range", "etag"]
  /// The fields that a cache needs to use a stored response.
  static let required: Set<String> = [
    "age", "cache-control", "date", "etag", "expires", "last-modified", "vary", "content-encoding",
  ]

  /// Returns the fields of a response that are stored. If the origin has no clock, a Date field is added (RFC 9110 §6.6.1).
  /// - Parameter control: the parsed Cache-Control of the fields.
  package static func kept(
    of headers: HTTPHeaders, _ control: CacheControl, responseTime: Timestamp
  ) -> HTTPHeaders {
    let named = FieldList.elements(of: (headers["Connection"] ?? "").lowercasedASCII).elements
    // Fields that `no-cache="…"` names need validation before each use, so they are not stored at all (§5.2.2.4).
    let unusable = control.noCacheFields.filter { !required.contains($0) }
    let dropped = Set(named).union(unusable)
    var kept = HTTPHeaders(
      headers.fields.filter { field in
        !omitted.contains(field.name) && (dropped.isEmpty || !dropped.contains(field.name.lowercasedASCII))
      })
    if !kept.contains("Date") { kept.append("Date", HTTPDate.text(responseTime)) }
    return kept
  }

  /// Returns the stored fields, updated with the fields of a newer response. The new response's Age replaces the old one.
  package static func updated(
    _ stored: HTTPHeaders, by headers: HTTPHeaders, responseTime: Timestamp
  ) -> HTTPHeaders {
    let new = kept(of: headers, CacheControl(response: headers), responseTime: responseTime).fields.filter {
      !describingBody.contains($0.name.lowercasedASCII)
    }
    let replaced = Set(new.map { $0.name.lowercasedASCII } + ["age"])
    let old = stored.fields.filter { !replaced.contains($0.name.lowercasedASCII) }
    // If the new response has `no-cache="…"`, the fields that the directive names are deleted too.
    let all = HTTPHeaders(old + new)
    return kept(of: all, CacheControl(response: all), responseTime: responseTime)
  }
}

internal import HTTPDates
package import HTTPFields
package import TransferModel

/// Which header fields a cache keeps, and how a later answer changes them (RFC 9111 §3.1 and §3.2).
package enum StoredFields {
  /// Fields of one connection, of proxies, and cookies: a hit must not set those once more.
  private static let ofConnection = [
    "connection", "keep-alive", "proxy-connection", "te", "trailer", "transfer-encoding", "upgrade",
    "proxy-authenticate", "proxy-authentication-info", "proxy-authorization", "set-cookie", "set-cookie2",
  ]
  private static let left = CaselessNames(ofConnection)
  /// What a delegate does not change of a response that it lets be stored (CachedURLResponse): what is of the connection and is not
  /// stored at all, what says how the body is written and which version it is, whom it is for, and when it was made.
  package static func isFixed(_ name: String) -> Bool { fixed.contains(name) }
  private static let fixed = CaselessNames(
    ofConnection + bound + ["last-modified", "vary", "date", "age"])

  /// The fields of a response with a delegate's in place of all that it may change.
  package static func changed(_ headers: HTTPHeaders, to given: HTTPHeaders) -> HTTPHeaders {
    HTTPHeaders(headers.fields.filter { isFixed($0.name) } + given.fields.filter { !isFixed($0.name) })
  }

  /// What the body that is stored depends on (§3.2), and the tag of just that body: a weak one does not become strong.
  private static let bound = ["content-length", "content-encoding", "content-range", "etag"]
  /// Without these, a cache does not know what it has.
  static let needed: Set<String> = [
    "age", "cache-control", "date", "etag", "expires", "last-modified", "vary", "content-encoding",
  ]

  /// The fields of a response that are stored. Date is added where the origin has no clock (RFC 9110 §6.6.1).
  /// - Parameter control: the fields' Cache-Control.
  package static func kept(
    of headers: HTTPHeaders, _ control: CacheControl, responseTime: Timestamp
  ) -> HTTPHeaders {
    let named = FieldList.elements(of: (headers["Connection"] ?? "").lowercasedASCII).elements
    // What may not be used without asking is not there to be used (§5.2.2.4).
    let unusable = control.noCacheFields.filter { !needed.contains($0) }
    let dropped = Set(named).union(unusable)
    var kept = HTTPHeaders(
      headers.fields.filter { field in
        !left.contains(field.name) && (dropped.isEmpty || !dropped.contains(field.name.lowercasedASCII))
      })
    if !kept.contains("Date") { kept.append("Date", HTTPDate.text(responseTime)) }
    return kept
  }

  /// The stored fields, those of the new answer in the place of their old values. Its age is the new one's.
  package static func updated(
    _ stored: HTTPHeaders, by headers: HTTPHeaders, responseTime: Timestamp
  ) -> HTTPHeaders {
    let new = kept(of: headers, CacheControl(response: headers), responseTime: responseTime).fields.filter {
      !bound.contains($0.name.lowercasedASCII)
    }
    let replaced = Set(new.map { $0.name.lowercasedASCII } + ["age"])
    let old = stored.fields.filter { !replaced.contains($0.name.lowercasedASCII) }
    // A field that a new no-cache="…" names goes, too.
    let all = HTTPHeaders(old + new)
    return kept(of: all, CacheControl(response: all), responseTime: responseTime)
  }
}

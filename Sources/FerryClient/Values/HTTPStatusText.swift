/// The reason phrases of HTTP statuses (RFC 9110 §15).
package enum HTTPStatusText {
  private static let phrases = [
    200: "OK", 201: "Created", 202: "Accepted", 204: "No Content", 206: "Partial Content",
    301: "Moved Permanently", 302: "Found", 303: "See Other", 304: "Not Modified", 307: "Temporary Redirect",
    308: "Permanent Redirect",
    400: "Bad Request", 401: "Unauthorized", 403: "Forbidden", 404: "Not Found", 405: "Method Not Allowed",
    406: "Not Acceptable", 407: "Proxy Authentication Required", 408: "Request Timeout", 409: "Conflict",
    410: "Gone", 416: "Range Not Satisfiable", 421: "Misdirected Request", 423: "Locked",
    425: "Too Early", 429: "Too Many Requests", 451: "Unavailable For Legal Reasons",
    500: "Internal Server Error", 501: "Not Implemented", 502: "Bad Gateway", 503: "Service Unavailable",
    504: "Gateway Timeout", 507: "Insufficient Storage",
  ]

  /// Returns the phrase, such as `Not Found`.
  static func phrase(_ status: Int) -> String? { phrases[status] }

  /// Returns a text such as `404 Not Found`.
  package static func of(_ status: Int) -> String {
    phrases[status].map { "\(status) \($0)" } ?? "status \(status)"
  }
}

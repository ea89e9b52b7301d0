/// The path rules of cookies (RFC 6265bis §5.1.4).
enum CookiePath {
  /// Returns the directory of a request's path.
  static func defaultPath(of requestPath: String) -> String {
    let path = requestPath.utf8
    guard path.first == UInt8(ascii: "/"), let last = path.lastIndex(of: UInt8(ascii: "/")),
      last > path.startIndex
    else { return "/" }
    return String(decoding: path[..<last], as: UTF8.self)
  }

  static func matches(_ requestPath: String, _ cookiePath: String) -> Bool {
    let (request, cookie) = (requestPath.utf8Span.span, cookiePath.utf8Span.span)
    let (count, slash) = (cookie.count, UInt8(ascii: "/"))
    guard request.count >= count else { return false }
    for place in cookie.indices where request[place] != cookie[place] { return false }
    return request.count == count || count > 0 && cookie[count - 1] == slash || request[count] == slash
  }
}

/// RFC 6265bis §5.1.4.
enum CookiePath {
  /// The directory of a request's path.
  static func defaultPath(of requestPath: String) -> String {
    let path = requestPath.utf8
    guard path.first == UInt8(ascii: "/"), let last = path.lastIndex(of: UInt8(ascii: "/")),
      last > path.startIndex
    else { return "/" }
    return String(decoding: path[..<last], as: UTF8.self)
  }

  static func matches(_ requestPath: String, _ cookiePath: String) -> Bool {
    let (request, cookie) = (requestPath.utf8, cookiePath.utf8)
    guard request.starts(with: cookie) else { return false }
    return request.count == cookie.count || cookie.last == UInt8(ascii: "/")
      || request.dropFirst(cookie.count).first == UInt8(ascii: "/")
  }
}

internal import CGSSAPI

/// A SPNEGO token for HTTP's Negotiate scheme (RFC 4559). It is valid for one request.
package enum NegotiateToken {
  /// The library's reason why there is no token.
  package struct Failure: Error, Sendable {
    package let message: String
  }

  /// Returns a new token. May wait for the realm's key distribution centre, so it must not be called on an event loop.
  /// - Parameters:
  ///   - host: The host of the service `HTTP@host`.
  ///   - user: The user, with or without a realm; `nil` for the one of the process's ticket cache or client keytab.
  package static func make(
    host: String, user: String? = nil, password: String? = nil
  ) throws(Failure) -> [UInt8] {
    var count = 0
    var problem = [CChar](repeating: 0, count: 512)
    guard let token = cgss_token("HTTP@\(host)", user, password, &count, &problem, problem.count) else {
      let words = problem.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }
      throw Failure(message: words.isEmpty ? "no token" : String(decoding: words, as: UTF8.self))
    }
    defer { free(token) }
    return Array(UnsafeBufferPointer(start: token, count: count))
  }
}

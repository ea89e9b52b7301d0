internal import CGSSAPI

/// What a client shows to a service in HTTP's Negotiate scheme (RFC 4559): a SPNEGO token that is good for one request.
package enum NegotiateToken {
  /// Why there is none; in the words of the library.
  package struct Failure: Error, Sendable {
    package let message: String
  }

  /// Makes one. May ask the realm's key distribution centre and wait for it: never on an event loop.
  /// - Parameters:
  ///   - host: of the service, `HTTP@host`.
  ///   - user: with or without a realm; nil: who the process's ticket cache or client keytab says.
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

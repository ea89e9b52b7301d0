import Foundation
import HTTPCookies
import JSON
import Testing
import TransferModel

/// 2026-01-01T00:00:00Z.
let start = Timestamp(seconds: 1_767_225_600)

func later(_ seconds: Int64) -> Timestamp {
  Timestamp(microseconds: start.microseconds + seconds * 1_000_000)
}

/// Makes the context of a request for a URL of a simple form; `document` is its main document's URL.
func request(
  _ url: String, from document: String? = nil, policy: CookieAcceptPolicy = .always, isSafeMethod: Bool = true
) -> CookieContext {
  let (isSecure, host, path) = parts(url)
  let main = document.map(parts)
  return CookieContext(
    host: host, path: path, isSecure: isSecure, mainDocumentHost: main?.host,
    mainDocumentIsSecure: main?.isSecure ?? false, isSafeMethod: isSafeMethod, acceptPolicy: policy)
}

private func parts(_ url: String) -> (isSecure: Bool, host: String, path: String) {
  let isSecure = url.hasPrefix("https://")
  let rest = url.dropFirst(isSecure ? 8 : 7)
  return (isSecure, String(rest.prefix { $0 != "/" }), String(rest.drop { $0 != "/" }))
}

extension CookieJar {
  /// Returns the names and values that a request for that URL would send.
  func sent(_ url: String, from document: String? = nil, at now: Timestamp = start) -> String? {
    var copy = self
    return copy.header(for: request(url, from: document), now: now)
  }

  /// Makes a jar that received these fields from that URL.
  static func of(_ fields: [String], from url: String, document: String? = nil) -> CookieJar {
    var jar = CookieJar()
    _ = jar.store(fields, from: request(url, from: document), now: start)
    return jar
  }
}

/// Reads a client's cookie, with its violations.
func read(_ json: String) throws -> (cookie: Cookie, violations: [FieldViolation]) {
  let violations = Violations()
  var reader = ObjectReader(try JSONParser.parse(Array(json.utf8)), at: "", violations)
  let cookie = Cookie(validating: &reader, now: start) { text in
    guard let url = URL(string: text), ["http", "https"].contains(url.scheme?.lowercased()) else {
      return nil
    }
    return url.host(percentEncoded: true).map { ($0, url.path(percentEncoded: true)) }
  }
  return (cookie, violations.all)
}

internal import Crypto
package import HTTPFields
internal import Limits
internal import TransferModel

/// A request field that a response depends on, and what it said; nil where it was absent.
package struct VaryField: Sendable, Equatable, Hashable {
  /// In lower case.
  package let name: String
  package let value: String?
  package init(name: String, value: String?) {
    self.name = name
    self.value = value
  }
}

/// Which stored responses a request's fields select (RFC 9111 §4.1).
package enum Vary {
  private static let caseless: Set<String> = ["accept-encoding", "accept-language", "accept-charset"]
  /// These prove who somebody is: a digest is enough to compare them.
  private static let secret: Set<String> = ["authorization", "proxy-authorization", "cookie"]

  /// The names in order, each once; nil if nothing can match: `*`, or more names than Ferry supports.
  package static func names(_ response: HTTPHeaders) -> [String]? {
    let fields = response.all("Vary")
    guard !FieldList.hasMore(than: Limits.varyNames.value, in: fields) else { return nil }
    let names = Set(fields.flatMap { FieldList.elements(of: $0.lowercasedASCII).elements })
    return names.contains("*") ? nil : names.sorted()
  }

  /// What the request said in the fields that the response names.
  package static func fields(of response: HTTPHeaders, request: HTTPHeaders) -> [VaryField] {
    (names(response) ?? []).map { VaryField(name: $0, value: value($0, in: request)) }
  }

  /// What the request said in that field; nil where it was absent.
  static func field(_ name: String, request: HTTPHeaders) -> VaryField? {
    value(name, in: request).map { VaryField(name: name, value: $0) }
  }

  package static func matches(_ stored: CachedResponse, _ request: HTTPHeaders) -> Bool {
    var asked = Asked(request)
    return asked.matches(stored)
  }

  /// The values of a request's fields that variants depend on. Each is read once.
  private struct Asked {
    private let request: HTTPHeaders
    private var values: [String: String?] = [:]

    init(_ request: HTTPHeaders) { self.request = request }

    mutating func matches(_ stored: CachedResponse) -> Bool {
      guard !stored.variesOnAll else { return false }
      for field in stored.vary where value(field.name) != field.value { return false }
      return true
    }

    private mutating func value(_ name: String) -> String? {
      if let known = values[name] { return known }
      let value = Vary.value(name, in: request)
      values[name] = value
      return value
    }
  }

  /// Those that match, the most recent first.
  package static func select(_ variants: [CachedResponse], for request: HTTPHeaders) -> [CachedResponse] {
    var asked = Asked(request)
    let matching = variants.filter { asked.matches($0) }
    return matching.count < 2
      ? matching
      : matching.sorted { left, right in
        let (first, second) = (left.date, right.date)
        return first != second ? first > second : left.responseTime > right.responseTime
      }
  }

  /// All lines as one, without blanks around commas.
  private static func value(_ name: String, in request: HTTPHeaders) -> String? {
    guard let text = request[name] else { return nil }
    let value = FieldList.joined(text)
    if secret.contains(name) { return Hexadecimal.text(Array(SHA256.hash(data: Array(value.utf8)))) }
    return caseless.contains(name) ? value.lowercasedASCII : value
  }
}

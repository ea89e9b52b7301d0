internal import Crypto
package import HTTPFields
internal import Limits
internal import TransferModel

/// A request field that a response depends on, with its value in the request; the value is `nil` if the request has no such field.
package struct VaryField: Sendable, Equatable, Hashable {
  /// The field's name in lower case.
  package let name: String
  package let value: String?
  package init(name: String, value: String?) {
    self.name = name
    self.value = value
  }
}

/// The selection of stored responses by a request's fields (RFC 9111 §4.1).
package enum Vary {
  private static let caseless: Set<String> = ["accept-encoding", "accept-language", "accept-charset"]
  /// The fields that carry credentials. A digest is enough to compare their values.
  private static let secret: Set<String> = ["authorization", "proxy-authorization", "cookie"]

  /// Returns the names in Vary, sorted and without duplicates; `nil` if nothing can match: `*`, or more names than Ferry supports.
  package static func names(_ response: HTTPHeaders) -> [String]? {
    let fields = response.all("Vary")
    guard !FieldList.hasMore(than: Limits.varyNames.value, in: fields) else { return nil }
    let names = Set(fields.flatMap { FieldList.elements(of: $0.lowercasedASCII).elements })
    return names.contains("*") ? nil : names.sorted()
  }

  /// Returns the request's values of the fields that the response's Vary names.
  package static func fields(of response: HTTPHeaders, request: HTTPHeaders) -> [VaryField] {
    (names(response) ?? []).map { VaryField(name: $0, value: value($0, in: request)) }
  }

  /// Returns the request's value of a field; `nil` if the request has no such field.
  static func field(_ name: String, request: HTTPHeaders) -> VaryField? {
    value(name, in: request).map { VaryField(name: name, value: $0) }
  }

  package static func matches(_ stored: CachedResponse, _ request: HTTPHeaders) -> Bool {
    var asked = RequestValues(request)
    return asked.matches(stored)
  }

  /// The values of a request's fields that variants depend on. Each value is computed once.
  private struct RequestValues {
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

  /// Returns the matching variants, most recent first.
  package static func select(_ variants: [CachedResponse], for request: HTTPHeaders) -> [CachedResponse] {
    var asked = RequestValues(request)
    let matching = variants.filter { asked.matches($0) }
    return matching.count < 2
      ? matching
      : matching.sorted { left, right in
        let (first, second) = (left.date, right.date)
        return first != second ? first > second : left.responseTime > right.responseTime
      }
  }

  /// Returns the values of all lines of a field as one list, without blanks around commas.
  private static func value(_ name: String, in request: HTTPHeaders) -> String? {
    guard let text = request[name] else { return nil }
    let value = FieldList.joined(text)
    if secret.contains(name) { return Hexadecimal.text(Array(SHA256.hash(data: Array(value.utf8)))) }
    return caseless.contains(name) ? value.lowercasedASCII : value
  }
}

package import JSON

/// Header fields in the order they came; names compare without case (RFC 9110 §5.1).
package struct HTTPHeaders: Sendable, Equatable, Codable {
  package struct Field: Sendable, Equatable, Codable {
    package var name: String
    package var value: String
    package init(name: String, value: String) {
      self.name = name
      self.value = value
    }
  }
  package private(set) var fields: [Field] = []

  package init() {}
  package init(_ fields: [Field]) { self.fields = fields }

  package var isEmpty: Bool { fields.isEmpty }

  /// All values of that name, joined as one (RFC 9110 §5.2).
  package subscript(_ name: String) -> String? {
    guard let first = fields.firstIndex(where: { Self.equal($0.name, name) }) else { return nil }
    let rest = fields[(first + 1)...].lazy.filter { Self.equal($0.name, name) }
    return rest.reduce(into: fields[first].value) { $0 += ", " + $1.value }
  }
  package func contains(_ name: String) -> Bool { fields.contains { Self.equal($0.name, name) } }
  /// Fields whose values say who somebody is, and prove it.
  package static let secretNames = ["Authorization", "Proxy-Authorization"]
  package static func isSecret(name: String) -> Bool { secretNames.contains { equal($0, name) } }
  /// What stands for such a value where it is shown.
  package static let redaction = "(redacted)"

  /// With those values replaced.
  package func replacingSecrets(_ replace: (String) -> String) -> HTTPHeaders {
    guard Self.secretNames.contains(where: contains) else { return self }
    return HTTPHeaders(
      fields.map { field in
        Self.isSecret(name: field.name) ? Field(name: field.name, value: replace(field.value)) : field
      })
  }

  /// Puts the values back that stand in `shown`, and were not shown.
  /// - Returns: the names of those that do not.
  package mutating func restoreSecrets(of shown: HTTPHeaders) -> [String] {
    var unknown: [String] = []
    for name in Self.secretNames where self[name] == Self.redaction {
      remove(name)
      if let value = shown[name] { append(name, value) } else { unknown.append(name) }
    }
    return unknown
  }

  /// As they are shown to clients.
  package var redacted: HTTPHeaders { replacingSecrets { _ in Self.redaction } }

  /// The values of all fields of that name, in order.
  package func all(_ name: String) -> [String] {
    fields.lazy.filter { Self.equal($0.name, name) }.map(\.value)
  }
  package mutating func append(_ name: String, _ value: String) {
    fields.append(Field(name: name, value: value))
  }
  package mutating func remove(_ name: String) { fields.removeAll { Self.equal($0.name, name) } }

  /// These fields, and those of `others` whose names are not among them.
  package func merging(defaults others: HTTPHeaders) -> HTTPHeaders {
    HTTPHeaders(fields + others.fields.filter { !contains($0.name) })
  }

  package static func equal(_ left: String, _ right: String) -> Bool {
    let (left, right) = (left.utf8, right.utf8)
    return left.count == right.count && zip(left, right).allSatisfy { lowercase($0) == lowercase($1) }
  }
  private static func lowercase(_ byte: UInt8) -> UInt8 {
    byte &- UInt8(ascii: "A") < 26 ? byte | 0x20 : byte
  }

  /// A token (RFC 9110 §5.6.2).
  package static func isValid(name: String) -> Bool {
    !name.isEmpty
      && name.utf8.allSatisfy { byte in
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
          UInt8(ascii: "a")...UInt8(ascii: "z"):
          true
        default: "!#$%&'*+-.^_`|~".utf8.contains(byte)
        }
      }
  }
  /// No control characters but tab: nothing that could end the field (RFC 9110 §5.5).
  package static func isValid(value: String) -> Bool {
    value.utf8.allSatisfy { $0 == 0x09 || ($0 >= 0x20 && $0 != 0x7F) }
  }
}

extension HTTPHeaders: JSONEncodable {
  /// An object; fields of one name are joined, as in `allHeaderFields`.
  package func encode(into writer: inout JSONWriter) {
    writer.object { writer in
      for (index, field) in fields.enumerated() {
        if fields[..<index].contains(where: { Self.equal($0.name, field.name) }) { continue }
        writer.key(field.name)
        writer.value(self[field.name] ?? field.value)
      }
    }
  }

  package init(json: JSONValue?) {
    fields = (json?.members ?? []).compactMap { member in
      member.value.string.map { Field(name: member.name, value: $0) }
    }
  }
}

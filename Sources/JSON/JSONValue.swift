/// A parsed JSON text. Members keep their order, so that what was sent can be sent back.
package enum JSONValue: Sendable, Equatable {
  case null
  case bool(Bool)
  case integer(Int64)
  case number(Double)
  case string(String)
  case array([JSONValue])
  case object([Member])

  package struct Member: Sendable, Equatable {
    package let name: String
    package let value: JSONValue
    package init(name: String, value: JSONValue) {
      self.name = name
      self.value = value
    }
  }

  /// The member of that name, where this is an object that has one.
  package subscript(_ name: String) -> JSONValue? {
    guard case .object(let members) = self else { return nil }
    return members.first { $0.name == name }?.value
  }
  package var string: String? { if case .string(let text) = self { text } else { nil } }
  package var bool: Bool? { if case .bool(let value) = self { value } else { nil } }
  package var integer: Int64? { if case .integer(let value) = self { value } else { nil } }
  /// The integer that it is, however it is written: 1.0 and 1e3 are integers, too (JSON Schema 2020-12, 4.2.3).
  package var wholeNumber: Int64? { integer ?? double.flatMap { Int64(exactly: $0) } }
  package var double: Double? {
    switch self {
    case .integer(let value): Double(value)
    case .number(let value): value
    default: nil
    }
  }
  package var elements: [JSONValue]? { if case .array(let values) = self { values } else { nil } }
  package var members: [Member]? { if case .object(let members) = self { members } else { nil } }
  package var isNull: Bool { self == .null }

  /// What the value is called in an error message.
  package var kind: String {
    switch self {
    case .null: "null"
    case .bool: "a boolean"
    case .integer, .number: "a number"
    case .string: "a string"
    case .array: "an array"
    case .object: "an object"
    }
  }
}

extension JSONValue: JSONEncodable {
  package func encode(into writer: inout JSONWriter) {
    switch self {
    case .null: writer.null()
    case .bool(let value): writer.value(value)
    case .integer(let value): writer.value(value)
    case .number(let value): writer.value(value)
    case .string(let text): writer.value(text)
    case .array(let values):
      writer.array { writer in
        for value in values {
          writer.element()
          value.encode(into: &writer)
        }
      }
    case .object(let members):
      writer.object { writer in
        for member in members {
          writer.key(member.name)
          member.value.encode(into: &writer)
        }
      }
    }
  }
}

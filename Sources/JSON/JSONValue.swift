/// A value in a JSON text. Members keep their order.
///
/// A value keeps the whole text in memory. Strings and numbers are decoded on each access.
package struct JSONValue: Sendable {
  private let tape: JSONTape
  /// The index of the value's record.
  private let place: Int

  package struct Member: Sendable, Equatable {
    package let name: String
    package let value: JSONValue
    package init(name: String, value: JSONValue) {
      self.name = name
      self.value = value
    }
    package static func == (left: Self, right: Self) -> Bool {
      left.name.hasSameBytes(as: right.name) && left.value == right.value
    }
  }

  init(_ tape: JSONTape, at place: Int = 0) {
    self.tape = tape
    self.place = place
  }

  private var record: JSONTape.Record { tape.records[place] }
  private var firstChild: Int { place + 1 }
  private func child(after child: Int) -> Int { Int(tape.records[child].next) }
  private func value(ofMember name: Int) -> JSONValue { JSONValue(tape, at: name + 1) }

  /// Returns the member of that name; `nil` if the value is no object or has no such member.
  package subscript(_ name: String) -> JSONValue? { member(name.utf8Span.span) }

  package subscript(_ name: StaticString) -> JSONValue? {
    member(Span(_unsafeElements: UnsafeBufferPointer(start: name.utf8Start, count: name.utf8CodeUnitCount)))
  }

  private func member(_ name: borrowing Span<UInt8>) -> JSONValue? {
    guard record.kind == .object else { return nil }
    var member = firstChild
    while member < record.next {
      if tape.isText(of: tape.records[member], equalTo: name) { return value(ofMember: member) }
      member = child(after: member + 1)
    }
    return nil
  }
  package var string: String? { text(at: place) }
  private func text(at place: Int) -> String? {
    let record = tape.records[place]
    return record.kind == .string ? tape.text(of: record) : nil
  }
  package var bool: Bool? {
    record.kind == .bool ? tape.bytes[Int(record.start)] == UInt8(ascii: "t") : nil
  }
  /// The value of a number that is written without fraction and exponent and fits into Int64.
  package var integer: Int64? {
    guard record.kind == .integer else { return nil }
    var (value, isNegative): (Int64, Bool) = (0, false)
    for byte in tape.bytes[record.range] {
      if byte == UInt8(ascii: "-") {
        isNegative = true
      } else {
        // Accumulate the negative value, because `Int64.min` has no positive counterpart.
        value = value * 10 - Int64(byte - UInt8(ascii: "0"))
      }
    }
    return isNegative ? value : -value
  }
  /// The value of any number that is an integer, in any notation: 1.0 and 1e3 are integers too (JSON Schema 2020-12, 4.2.3).
  package var wholeNumber: Int64? { integer ?? double.flatMap { Int64(exactly: $0) } }
  /// The nearest double; infinite if the number exceeds the range of Double.
  package var double: Double? {
    switch record.kind {
    case .integer: integer.map(Double.init)
    case .number: Double(tape.text(of: record))
    default: nil
    }
  }
  package var elements: [JSONValue]? { elements { JSONValue(tape, at: $0) } }
  /// The texts of an array of strings.
  package var strings: [String]? { elements { text(at: $0) } }
  package var elementCount: Int? { record.kind == .array ? Int(record.endOrCount) : nil }

  /// Returns the converted elements of an array; `nil` if the value is no array or `element` returns `nil`.
  private func elements<Element>(_ element: (_ place: Int) -> Element?) -> [Element]? {
    guard record.kind == .array else { return nil }
    var elements: [Element] = []
    elements.reserveCapacity(Int(record.endOrCount))
    var place = firstChild
    while place < record.next {
      guard let next = element(place) else { return nil }
      elements.append(next)
      place = child(after: place)
    }
    return elements
  }
  package var members: [Member]? {
    guard record.kind == .object else { return nil }
    var members: [Member] = []
    members.reserveCapacity(Int(record.endOrCount))
    var member = firstChild
    while member < record.next {
      members.append(Member(name: tape.text(of: tape.records[member]), value: value(ofMember: member)))
      member = child(after: member + 1)
    }
    return members
  }
  package var memberCount: Int? { record.kind == .object ? Int(record.endOrCount) : nil }
  package var isNull: Bool { record.kind == .null }
  /// The value; `nil` for null, as for an absent member.
  package var present: JSONValue? { isNull ? nil : self }
  package var isObject: Bool { record.kind == .object }
  package var isArray: Bool { record.kind == .array }

  /// The name of the value's type in an error message.
  package var kind: String {
    switch record.kind {
    case .null: "null"
    case .bool: "a boolean"
    case .integer, .number: "a number"
    case .string: "a string"
    case .array: "an array"
    case .object: "an object"
    }
  }
}

extension JSONValue: Equatable {
  /// Compares strings by code points, members in order, and numbers as integers if both are integers, or else as doubles.
  package static func == (left: Self, right: Self) -> Bool {
    switch (left.record.kind, right.record.kind) {
    case (.integer, .integer): left.integer == right.integer
    case (.number, .number), (.number, .integer), (.integer, .number): left.double == right.double
    case (.bool, .bool): left.bool == right.bool
    case (.string, .string):
      left.tape.isText(of: left.record, equalTo: right.tape.text(of: right.record).utf8Span.span)
    case (.array, .array): left.elements == right.elements
    case (.object, .object): left.members == right.members
    case (let left, let right): left == right
    }
  }
}

extension JSONValue: JSONEncodable {
  package func encode(into writer: inout JSONWriter) {
    switch record.kind {
    case .null: writer.null()
    case .bool: writer.value(bool == true)
    // Each number has one form, so that equal values have equal texts.
    case .integer: writer.value(integer ?? 0)
    case .number: writer.value(double ?? 0)
    case .string: writer.value(tape.text(of: record))
    case .array:
      writer.array { writer in
        for value in elements ?? [] {
          writer.element()
          value.encode(into: &writer)
        }
      }
    case .object:
      writer.object { writer in
        for member in members ?? [] {
          writer.key(member.name)
          member.value.encode(into: &writer)
        }
      }
    }
  }
}

// MARK: Construction

extension JSONValue {
  package static let null = made { $0.null() }
  package static func bool(_ value: Bool) -> JSONValue { made { $0.value(value) } }
  package static func integer(_ value: Int64) -> JSONValue { made { $0.value(value) } }
  package static func number(_ value: Double) -> JSONValue { made { $0.value(value) } }
  package static func string(_ text: String) -> JSONValue { made { $0.value(text) } }
  package static func array(_ elements: [JSONValue]) -> JSONValue {
    made { writer in
      writer.array { writer in
        for element in elements {
          writer.element()
          element.encode(into: &writer)
        }
      }
    }
  }
  /// Makes an object.
  /// - Precondition: no two members have the same name.
  package static func object(_ members: [Member]) -> JSONValue {
    made { writer in
      writer.object { writer in
        for member in members {
          writer.key(member.name)
          member.value.encode(into: &writer)
        }
      }
    }
  }

  private static func made(_ write: (inout JSONWriter) -> Void) -> JSONValue {
    var writer = JSONWriter(capacity: 0)
    write(&writer)
    do { return try JSONParser.parse(writer.bytes, isLimited: false) } catch {
      preconditionFailure("JSONWriter has written invalid JSON: \(error)")
    }
  }
}

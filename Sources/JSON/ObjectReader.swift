/// What is wrong with a field of a JSON document, and which one it is.
package struct FieldViolation: Error, Sendable, Equatable {
  /// An RFC 6901 pointer, `/request/url`; empty for the whole document.
  package let pointer: String
  package let detail: String
  /// It is a parameter of the query.
  package let isQuery: Bool

  package init(pointer: String, detail: String) {
    self.pointer = pointer
    self.detail = detail
    isQuery = false
  }

  package init(parameter: String, detail: String) {
    pointer = "/" + parameter
    self.detail = detail
    isQuery = true
  }
}

/// Collects every violation of one document, so that a client sees them all at once.
package final class Violations {
  package private(set) var all: [FieldViolation] = []
  package init() {}
  package func add(_ pointer: String, _ detail: String) {
    all.append(FieldViolation(pointer: pointer, detail: detail))
  }
}

/// Reads the members of a JSON object by name and type. What nobody asked for is an unknown field.
package struct ObjectReader {
  package let pointer: String
  package let violations: Violations
  private let members: [JSONValue.Member]
  private var seen: Set<String> = []

  /// Takes `value` as an object; where it is none, that is a violation and the reader is empty.
  package init(_ value: JSONValue, at pointer: String, _ violations: Violations) {
    self.pointer = pointer
    self.violations = violations
    members = value.members ?? []
    if value.members == nil { violations.add(pointer, "must be an object, not \(value.kind)") }
  }

  package func pointer(to name: String) -> String { JSONPointer.appending(name, to: pointer) }

  package func reject(_ name: String, _ detail: String) { violations.add(pointer(to: name), detail) }

  /// Refuses one element of an array member.
  package func reject(_ name: String, element index: Int, _ detail: String) {
    violations.add("\(pointer(to: name))/\(index)", detail)
  }

  /// The member's value; nil where it is absent or null.
  package mutating func value(_ name: String) -> JSONValue? {
    seen.insert(name)
    guard let value = members.first(where: { $0.name == name })?.value, !value.isNull else { return nil }
    return value
  }

  /// The member is there, and null.
  package func isNull(_ name: String) -> Bool {
    members.first { $0.name == name }?.value.isNull == true
  }

  package mutating func string(_ name: String) -> String? {
    guard let value = value(name) else { return nil }
    guard let text = value.string else { return mistyped(name, "a string", value) }
    return text
  }

  package mutating func bool(_ name: String) -> Bool? {
    guard let value = value(name) else { return nil }
    guard let flag = value.bool else { return mistyped(name, "a boolean", value) }
    return flag
  }

  package mutating func number(_ name: String, in range: ClosedRange<Double>) -> Double? {
    guard let value = value(name) else { return nil }
    guard let number = value.double else { return mistyped(name, "a number", value) }
    guard range.contains(number) else {
      reject(name, "must be between \(Self.plain(range.lowerBound)) and \(Self.plain(range.upperBound))")
      return nil
    }
    return number
  }

  package mutating func integer(_ name: String, in range: ClosedRange<Int>) -> Int? {
    guard let value = value(name) else { return nil }
    guard let number = value.integer else { return mistyped(name, "an integer", value) }
    guard range.contains(Int(number)) else {
      reject(name, "must be between \(range.lowerBound) and \(range.upperBound)")
      return nil
    }
    return Int(number)
  }

  /// One of an enumeration's raw values.
  package mutating func choice<Choice: RawRepresentable & CaseIterable>(
    _ name: String, of type: Choice.Type = Choice.self
  ) -> Choice? where Choice.RawValue == String {
    guard let text = string(name) else { return nil }
    guard let choice = Choice(rawValue: text) else {
      reject(name, "must be one of " + Choice.allCases.map(\.rawValue).joined(separator: ", "))
      return nil
    }
    return choice
  }

  package mutating func strings(_ name: String) -> [String]? {
    guard let value = value(name) else { return nil }
    guard let elements = value.elements else { return mistyped(name, "an array of strings", value) }
    let texts = elements.compactMap(\.string)
    guard texts.count == elements.count else { return mistyped(name, "an array of strings", value) }
    return texts
  }

  /// A reader of the member that is an object; nil where it is absent.
  package mutating func object(_ name: String) -> ObjectReader? {
    value(name).map { ObjectReader($0, at: pointer(to: name), violations) }
  }

  /// Reports the members that nobody asked for.
  package func finish() {
    for member in members where !seen.contains(member.name) {
      reject(member.name, "unknown field")
    }
  }

  private func mistyped<T>(_ name: String, _ expected: String, _ value: JSONValue) -> T? {
    reject(name, "must be \(expected), not \(value.kind)")
    return nil
  }

  private static func plain(_ number: Double) -> String {
    number == number.rounded() && abs(number) < 1e15 ? String(Int64(number)) : String(number)
  }
}

/// RFC 6901.
package enum JSONPointer {
  /// The pointer to the member `name` of what `pointer` points to.
  package static func appending(_ name: String, to pointer: String) -> String {
    guard name.utf8.contains(where: { $0 == UInt8(ascii: "~") || $0 == UInt8(ascii: "/") }) else {
      return pointer + "/" + name
    }
    return pointer + "/"
      + name.unicodeScalars.map { $0 == "~" ? "~0" : $0 == "/" ? "~1" : String($0) }.joined()
  }
}

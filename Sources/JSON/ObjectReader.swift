/// Reads the members of a JSON object by name and type. What nobody asked for is an unknown field.
package struct ObjectReader {
  package let pointer: String
  package let violations: Violations
  private let members: [JSONValue.Member]
  /// Of each member, whether somebody asked for it.
  private var isAsked: [Bool]
  /// Names of which null says the same as nothing.
  private var nullable: [String] = []

  /// Takes `value` as an object; where it is none, that is a violation and the reader is empty.
  package init(_ value: JSONValue, at pointer: String, _ violations: Violations) {
    self.pointer = pointer
    self.violations = violations
    let found = value.members
    members = found ?? []
    isAsked = Array(repeating: false, count: members.count)
    if found == nil { violations.add(pointer, "must be an object, not \(value.kind)") }
  }

  package func pointer(to name: String) -> String { JSONPointer.appending(name, to: pointer) }

  package func reject(_ name: String, _ detail: @autoclosure () -> String) {
    violations.add(pointer(to: name), detail())
  }

  /// Refuses a member that is too large, or of which there is too much.
  package func exceed(_ name: String, _ detail: @autoclosure () -> String) {
    violations.exceed(pointer(to: name), detail())
  }

  /// Refuses one element of an array member.
  package func reject(_ name: String, element index: Int, _ detail: @autoclosure () -> String) {
    violations.add("\(pointer(to: name))/\(index)", detail())
  }

  /// The member's value; nil where it is absent, or null. Null is a violation but where it was allowed or asked for: who sends it
  /// means something, and it is not to be guessed what.
  package mutating func value(_ name: String) -> JSONValue? {
    guard let place = place(of: name) else { return nil }
    let isFirst = !isAsked[place]
    isAsked[place] = true
    let value = members[place].value
    guard value.isNull else { return value }
    if isFirst, !nullable.contains(name) { reject(name, "must not be null; leave it out") }
    return nil
  }

  /// From here on, null says the same as nothing for these members.
  package mutating func allowNull(_ names: String...) { nullable += names }

  /// The member is there, and null: for members of which that says something.
  package mutating func isNull(_ name: String) -> Bool {
    nullable.append(name)
    guard let place = place(of: name) else { return false }
    isAsked[place] = true
    return members[place].value.isNull
  }

  /// The member is not there, not even as null.
  package func isMissing(_ name: String) -> Bool { place(of: name) == nil }

  /// An object has few members, and no name twice.
  private func place(of name: String) -> Int? {
    let members = members.span
    return members.indices.first { members[$0].name.hasSameBytes(as: name) }
  }

  /// - Parameter maximum: bytes of UTF-8 that it may have.
  package mutating func string(_ name: String, upTo maximum: Int = .max) -> String? {
    guard let value = value(name) else { return nil }
    guard let text = value.string else { return mistyped(name, "a string", value) }
    guard text.utf8.count <= maximum else {
      exceed(name, "must have at most \(maximum) bytes, not \(text.utf8.count)")
      return nil
    }
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
    guard let number = value.wholeNumber else { return mistyped(name, "an integer", value) }
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

  /// - Parameter maximum: how many there may be.
  package mutating func strings(_ name: String, upTo maximum: Int = .max) -> [String]? {
    guard let value = value(name) else { return nil }
    if let count = value.elementCount, count > maximum {
      exceed(name, "must have at most \(maximum) elements, not \(count)")
      return nil
    }
    return value.strings ?? mistyped(name, "an array of strings", value)
  }

  /// A reader of the member that is an object; nil where it is absent.
  package mutating func object(_ name: String) -> ObjectReader? {
    value(name).map { ObjectReader($0, at: pointer(to: name), violations) }
  }

  /// Reports the members that nobody asked for.
  /// - Parameter reasons: why those of some names are not taken.
  package func finish(explaining reasons: [String: String] = [:]) {
    for (member, isAsked) in zip(members, isAsked) where !isAsked {
      reject(member.name, reasons[member.name] ?? "unknown field")
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

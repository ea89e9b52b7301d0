/// A reader of a JSON object's members by name and type. A member that is never read is an unknown field.
package struct ObjectReader {
  package let pointer: String
  package let violations: Violations
  private let members: [JSONValue.Member]
  /// Whether each member was read.
  private var isAsked: [Bool]
  /// The names of members for which null means the same as absence.
  private var nullable: [String] = []

  /// Reads `value` as an object. Another type is a violation, and the reader is then empty.
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

  /// Rejects a member that exceeds a limit.
  package func exceed(_ name: String, _ detail: @autoclosure () -> String) {
    violations.exceed(pointer(to: name), detail())
  }

  /// Rejects one element of an array member.
  package func reject(_ name: String, element index: Int, _ detail: @autoclosure () -> String) {
    violations.add("\(pointer(to: name))/\(index)", detail())
  }

  /// Returns the member's value; `nil` if the member is absent or null. Null is a violation unless it is allowed or has a meaning of its
  /// own, because the client's intention would be unclear.
  package mutating func value(_ name: String) -> JSONValue? {
    guard let place = place(of: name) else { return nil }
    let isFirst = !isAsked[place]
    isAsked[place] = true
    let value = members[place].value
    guard value.isNull else { return value }
    if isFirst, !nullable.contains(name) { reject(name, "must not be null; leave it out") }
    return nil
  }

  /// Allows null for these members, with the same meaning as absence.
  package mutating func allowNull(_ names: String...) { nullable += names }

  /// Whether the member is null. Use it for members for which null has a meaning of its own.
  package mutating func isNull(_ name: String) -> Bool {
    nullable.append(name)
    guard let place = place(of: name) else { return false }
    isAsked[place] = true
    return members[place].value.isNull
  }

  /// Whether the member is absent. A null member is not.
  package func isMissing(_ name: String) -> Bool { place(of: name) == nil }

  /// Returns the index of a member. A linear search is enough, because an object has few members and unique names.
  private func place(of name: String) -> Int? {
    let members = members.span
    return members.indices.first { members[$0].name.hasSameBytes(as: name) }
  }

  /// Reads a string.
  /// - Parameter maximum: the limit in bytes of UTF-8.
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
      let bounds = "\(Self.plain(range.lowerBound)) and \(Self.plain(range.upperBound))"
      reject(name, "must be between \(bounds), not \(Self.plain(number))")
      return nil
    }
    return number
  }

  package mutating func integer(_ name: String, in range: ClosedRange<Int>) -> Int? {
    guard let value = value(name) else { return nil }
    guard let number = value.wholeNumber else {
      guard let number = value.double else { return mistyped(name, "an integer", value) }
      reject(name, "must be an integer, not \(Self.plain(number))")
      return nil
    }
    guard range.contains(Int(number)) else {
      reject(name, "must be between \(range.lowerBound) and \(range.upperBound), not \(number)")
      return nil
    }
    return Int(number)
  }

  /// Reads one of an enumeration's raw values.
  package mutating func choice<Choice: RawRepresentable & CaseIterable>(
    _ name: String, of type: Choice.Type = Choice.self
  ) -> Choice? where Choice.RawValue == String {
    guard let text = string(name) else { return nil }
    guard let choice = Choice(rawValue: text) else {
      reject(name, "must be one of \(Self.names(of: type)), not '\(text)'")
      return nil
    }
    return choice
  }

  /// Reads one of an enumeration's raw values; a missing member is a violation.
  package mutating func requiredChoice<Choice: RawRepresentable & CaseIterable>(
    _ name: String, of type: Choice.Type = Choice.self
  ) -> Choice? where Choice.RawValue == String {
    let choice = choice(name, of: type)
    if choice == nil, isMissing(name) { reject(name, "is required; use one of \(Self.names(of: type))") }
    return choice
  }

  private static func names<Choice: RawRepresentable & CaseIterable>(of type: Choice.Type) -> String
  where Choice.RawValue == String { type.allCases.map(\.rawValue).joined(separator: ", ") }

  /// Reads an array of strings.
  /// - Parameter maximum: the limit of elements.
  package mutating func strings(_ name: String, upTo maximum: Int = .max) -> [String]? {
    guard let value = value(name) else { return nil }
    if let count = value.elementCount, count > maximum {
      exceed(name, "must have at most \(maximum) elements, not \(count)")
      return nil
    }
    if let strings = value.strings { return strings }
    guard value.isArray else { return mistyped(name, "an array of strings", value) }
    reject(name, "must have only strings as elements")
    return nil
  }

  /// Returns a reader of an object member; `nil` if the member is absent.
  package mutating func object(_ name: String) -> ObjectReader? {
    value(name).map { ObjectReader($0, at: pointer(to: name), violations) }
  }

  /// Reports the members that were never read.
  /// - Parameter reasons: why members of some names are not accepted.
  package func finish(explaining reasons: [String: String] = [:]) {
    for (member, isAsked) in zip(members, isAsked) where !isAsked {
      reject(member.name, reasons[member.name] ?? "unknown field; remove it, or correct its name")
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

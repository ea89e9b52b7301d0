package import JSON

/// An enumeration that is stored as an object with one member. The member's name is the case, its value an array of associated values.
package protocol RecordCases: RecordValue {
  /// The table of all cases. A case without an entry cannot be written.
  static var cases: [RecordCase<Self>] { get }
}

/// One case of `Whole`: its name, a function that extracts its values, and one that builds the case from them.
package struct RecordCase<Whole>: Sendable {
  package let name: StaticString
  /// Writes the value. Returns `false` if the value is of another case.
  fileprivate let write: @Sendable (Whole, inout RecordCoder) -> Bool
  fileprivate let read: @Sendable ([JSONValue]) throws(RecordFault) -> Whole

  /// - Parameters:
  ///   - make: the case, as a function of its values.
  ///   - values: returns the associated values; `nil` for another case.
  package init<each Value: RecordValue>(
    _ name: StaticString, _ make: @escaping @Sendable (repeat each Value) -> Whole,
    _ values: @escaping @Sendable (Whole) -> (repeat each Value)?
  ) {
    self.name = name
    write = { whole, coder in
      guard let values = values(whole) else { return false }
      coder.array(name) { coder in
        for value in repeat each values { coder.element(value) }
      }
      return true
    }
    read = { elements throws(RecordFault) in
      var elements = RecordElements(elements)
      let whole = make(repeat try elements.next((each Value).self))
      try elements.finish()
      return whole
    }
  }
}

extension RecordCase {
  /// Returns the same entry for a wider enumeration, one case of which wraps a `Whole`.
  package func of<Wider>(
    _ make: @escaping @Sendable (Whole) -> Wider, _ part: @escaping @Sendable (Wider) -> Whole?
  ) -> RecordCase<Wider> {
    RecordCase<Wider>(
      name: name, write: { wider, coder in part(wider).map { write($0, &coder) } ?? false },
      read: { elements throws(RecordFault) in make(try read(elements)) })
  }

  private init(
    name: StaticString, write: @escaping @Sendable (Whole, inout RecordCoder) -> Bool,
    read: @escaping @Sendable ([JSONValue]) throws(RecordFault) -> Whole
  ) {
    (self.name, self.write, self.read) = (name, write, read)
  }
}

extension RecordCase where Whole: Sendable {
  /// Creates the entry of a case without values.
  package init(_ name: StaticString, _ whole: Whole, _ isIt: @escaping @Sendable (Whole) -> Bool) {
    self.init(name, { whole }, { isIt($0) ? () : nil })
  }
}

/// The values of a case, read in order.
private struct RecordElements {
  private let elements: [JSONValue]
  private var place = 0

  init(_ elements: [JSONValue]) { self.elements = elements }

  mutating func next<Value: RecordValue>(_ type: Value.Type) throws(RecordFault) -> Value {
    guard place < elements.count else { throw RecordFault("is missing").under("\(place)") }
    defer { place += 1 }
    do throws(RecordFault) { return try Value.read(elements[place]) } catch { throw error.under("\(place)") }
  }

  func finish() throws(RecordFault) {
    guard place == elements.count else { throw RecordFault("is not known").under("\(place)") }
  }
}

extension RecordCases {
  package func write(to coder: inout RecordCoder) {
    coder.object { coder in writeMember(to: &coder) }
  }

  /// Writes only the member, into an object with other members.
  package func writeMember(to coder: inout RecordCoder) {
    guard Self.cases.contains(where: { $0.write(self, &coder) }) else {
      preconditionFailure("a case of \(Self.self) has no entry in its table")
    }
  }

  package static func read(_ json: JSONValue) throws(RecordFault) -> Self {
    guard let members = json.members else { throw RecordFault("must be an object, not \(json.kind)") }
    guard members.count == 1 else { throw RecordFault("must have one member, not \(members.count)") }
    return try readMember(members[0])
  }

  package static func readMember(_ member: JSONValue.Member) throws(RecordFault) -> Self {
    guard let known = cases.first(where: { "\($0.name)" == member.name }) else {
      throw RecordFault("is not known").under(member.name)
    }
    do throws(RecordFault) {
      return try known.read(try member.value.scalar("an array", member.value.elements))
    } catch {
      throw error.under(member.name)
    }
  }
}

extension Optional: RecordValue where Wrapped: RecordValue {
  package func write(to coder: inout RecordCoder) {
    if let self { self.write(to: &coder) } else { coder.writer.null() }
  }
  package static func read(_ json: JSONValue) throws(RecordFault) -> Wrapped? {
    json.isNull ? nil : try Wrapped.read(json)
  }
}

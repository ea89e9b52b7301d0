internal import JSON
internal import TransferModel

/// One object of a stored document, read member by member. What is missing, of another type or not known is a fault: what the
/// store wrote it knows, so that anything else was written by a newer version, or was damaged.
///
/// No rule for clients is applied: a value that was good when it was stored is good.
package struct StoredObject {
  package struct Fault: Error, Equatable {
    /// RFC 6901.
    package let pointer: String
    package let reason: String
  }

  let pointer: String
  private let members: [JSONValue.Member]
  private var taken: Set<String> = []

  init(_ value: JSONValue, at pointer: String) throws(Fault) {
    guard let members = value.members else {
      throw Fault(pointer: pointer, reason: "must be an object, not \(value.kind)")
    }
    self.members = members
    self.pointer = pointer
  }

  /// Reads a document that says of which version it is.
  package init(document: [UInt8]) throws(Fault) {
    let value: JSONValue
    do throws(JSONSyntaxError) { value = try JSONParser.parse(document) } catch {
      throw Fault(pointer: "", reason: "is not JSON: \(error.reason), at byte \(error.offset)")
    }
    let name = "\(DocumentVersion.member)"
    let version = value[name]
    guard version?.integer == Int64(DocumentVersion.current) else {
      let text = version.map { version in version.integer.map { "\($0)" } ?? version.kind } ?? "missing"
      throw Fault(
        pointer: "/" + name, reason: "is \(text): this program knows version \(DocumentVersion.current)")
    }
    try self.init(value, at: "")
    taken.insert(name)
  }

  func fault(_ name: String, _ reason: String) -> Fault {
    Fault(pointer: JSONPointer.appending(name, to: pointer), reason: reason)
  }

  /// Whatever else it has is of a newer version, or of nobody.
  package func finish() throws(Fault) {
    for member in members where !taken.contains(member.name) { throw fault(member.name, "is not known") }
  }

  /// Members that say again what others say.
  mutating func skip(_ names: String...) { taken.formUnion(names) }

  /// The names of all its members, where they come from outside.
  var names: [String] { members.map(\.name) }

  func isNull(_ name: String) -> Bool { members.first { $0.name == name }?.value.isNull == true }

  /// The member's value; nil where it is absent or null.
  mutating func value(_ name: String) -> JSONValue? {
    taken.insert(name)
    guard let value = members.first(where: { $0.name == name })?.value, !value.isNull else { return nil }
    return value
  }

  /// The member's value as `expected`; nil where it is absent or null.
  mutating func read<T>(
    _ name: String, _ expected: String, _ convert: (JSONValue) -> T?
  ) throws(Fault) -> T? {
    guard let value = value(name) else { return nil }
    guard let converted = convert(value) else {
      throw fault(name, "must be \(expected), not \(value.kind)")
    }
    return converted
  }

  // MARK: What may be absent

  mutating func stringIfAny(_ name: String) throws(Fault) -> String? { try read(name, "a string", \.string) }
  mutating func integerIfAny(_ name: String) throws(Fault) -> Int64? {
    try read(name, "an integer", \.integer)
  }
  mutating func countIfAny(_ name: String) throws(Fault) -> Int? {
    try integerIfAny(name).map { Int($0) }
  }
  mutating func numberIfAny(_ name: String) throws(Fault) -> Double? {
    try read(name, "a number") { $0.double.flatMap { $0.isFinite ? $0 : nil } }
  }
  mutating func boolIfAny(_ name: String) throws(Fault) -> Bool? { try read(name, "a boolean", \.bool) }

  /// Microseconds; 0 where there is none.
  mutating func timeIfAny(_ name: String) throws(Fault) -> Timestamp? {
    guard let microseconds = try integerIfAny(name), microseconds != 0 else { return nil }
    guard microseconds > 0 else { throw fault(name, "is before 1970") }
    return Timestamp(microseconds: microseconds)
  }

  mutating func choiceIfAny<Choice: RawRepresentable>(
    _ name: String, of type: Choice.Type = Choice.self
  ) throws(Fault) -> Choice? where Choice.RawValue == String {
    guard let text = try stringIfAny(name) else { return nil }
    guard let choice = Choice(rawValue: text) else { throw fault(name, "is '\(text)', which is not known") }
    return choice
  }

  mutating func idIfAny<Kind>(_ name: String, of type: ID<Kind>.Type = ID<Kind>.self) throws(Fault) -> ID<
    Kind
  >? {
    guard let text = try stringIfAny(name) else { return nil }
    guard let id = ID<Kind>(text) else { throw fault(name, "is no id") }
    return id
  }

  mutating func objectIfAny(_ name: String) throws(Fault) -> StoredObject? {
    guard let value = value(name) else { return nil }
    return try StoredObject(value, at: JSONPointer.appending(name, to: pointer))
  }

  mutating func stringsIfAny(_ name: String) throws(Fault) -> [String]? {
    guard let elements = try read(name, "an array", \.elements) else { return nil }
    var texts: [String] = []
    for (index, element) in elements.enumerated() {
      guard let text = element.string else {
        throw Fault(
          pointer: JSONPointer.appending(name, to: pointer) + "/\(index)", reason: "must be a string")
      }
      texts.append(text)
    }
    return texts
  }

  // MARK: What must be there

  private func require<T>(_ name: String, _ value: T?) throws(Fault) -> T {
    guard let value else { throw fault(name, "is missing") }
    return value
  }

  mutating func string(_ name: String) throws(Fault) -> String {
    let value = try stringIfAny(name)
    return try require(name, value)
  }
  mutating func integer(_ name: String) throws(Fault) -> Int64 {
    let value = try integerIfAny(name)
    return try require(name, value)
  }
  mutating func object(_ name: String) throws(Fault) -> StoredObject {
    let value = try objectIfAny(name)
    return try require(name, value)
  }
  mutating func choice<Choice: RawRepresentable>(_ name: String) throws(Fault) -> Choice
  where Choice.RawValue == String {
    let value: Choice? = try choiceIfAny(name)
    return try require(name, value)
  }
  mutating func id<Kind>(_ name: String) throws(Fault) -> ID<Kind> {
    let value: ID<Kind>? = try idIfAny(name)
    return try require(name, value)
  }
}

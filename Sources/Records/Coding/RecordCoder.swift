internal import JSON

/// A coder that writes or reads the members of one object.
///
/// A record's table of members is one function. Its argument is the value to write, or `nil` to read one. Each line writes or reads one
/// member:
///
///     RetryWait(
///       lastError: try coder.required("lastError", value?.lastError),
///       nextAttemptAt: try coder.required("nextAttemptAt", value?.nextAttemptAt))
///
/// A table throws only when it reads.
///
/// Unknown members are refused, because a newer version wrote them and they may change the meaning of the others. A new member should
/// therefore be written only if it differs from its default. Older programs can then read all other documents.
package struct RecordCoder {
  var writer: JSONWriter
  /// The object to read; `nil` when writing.
  private let object: JSONValue?
  private var asked: [StaticString] = []
  /// The number of requested members that the object has.
  private var found = 0

  package var isReading: Bool { object != nil }

  private init(writer: consuming JSONWriter = JSONWriter(capacity: 0), object: JSONValue? = nil) {
    self.writer = writer
    self.object = object
  }

  // MARK: Objects

  /// Returns the text of an object whose members `table` writes.
  static func write(_ table: (inout RecordCoder) throws(RecordFault) -> Void) -> [UInt8] {
    var coder = RecordCoder(writer: JSONWriter())
    coder.object(table)
    return coder.writer.bytes
  }

  /// Writes an object as the next value.
  mutating func object(_ table: (inout RecordCoder) throws(RecordFault) -> Void) {
    assert(!isReading)
    writer.begin(.object)
    do throws(RecordFault) { try table(&self) } catch {
      preconditionFailure("a value cannot be written: \(error)")
    }
    writer.end(.object)
  }

  /// Reads an object and checks that no member is unknown.
  static func read<T>(
    _ json: JSONValue, _ table: (inout RecordCoder) throws(RecordFault) -> T
  ) throws(RecordFault) -> T {
    guard let count = json.memberCount else { throw RecordFault("must be an object, not \(json.kind)") }
    var coder = RecordCoder(object: json)
    let value = try table(&coder)
    guard coder.found == count else {
      let known = Set(coder.asked.map { "\($0)" })
      let unknown = json.members?.first { !known.contains($0.name) }
      throw RecordFault("is not known").under(unknown?.name ?? "")
    }
    return value
  }

  // MARK: Members for an initialiser

  /// Writes or reads a member that is always present.
  package mutating func required<T: RecordValue>(
    _ name: StaticString, _ value: T?
  ) throws(RecordFault) -> T {
    if isReading {
      guard let value: T = try read(name) else { throw fault(name, "is missing") }
      return value
    }
    guard let value else { preconditionFailure("\(name) has no value to write") }
    write(name, value)
    return value
  }

  /// Writes or reads a member that is absent for `nil`.
  package mutating func optional<T: RecordValue>(
    _ name: StaticString, _ value: T?
  ) throws(RecordFault) -> T? {
    if isReading { return try read(name) }
    if let value { write(name, value) }
    return value
  }

  /// Writes or reads a member that is absent if it equals `other`.
  package mutating func member<T: RecordValue & Equatable>(
    _ name: StaticString, _ value: T?, else other: T
  ) throws(RecordFault) -> T {
    if isReading { return try read(name) ?? other }
    guard let value, value != other else { return other }
    write(name, value)
    return value
  }

  /// Writes or reads bytes as base64. The member is absent for `nil`.
  package mutating func bytes(_ name: StaticString, _ value: [UInt8]?) throws(RecordFault) -> [UInt8]? {
    try optional(name, value.map { RecordBytes(bytes: $0) })?.bytes
  }

  /// Writes or reads a member whose object has another table than its type's own.
  mutating func object<T>(
    _ name: StaticString, _ value: T?,
    _ table: (inout RecordCoder, T?) throws(RecordFault) -> T
  ) throws(RecordFault) -> T? {
    guard isReading else {
      guard let value else { return nil }
      writer.key(name)
      object { coder throws(RecordFault) in _ = try table(&coder, value) }
      return value
    }
    guard let json = json(name) else { return nil }
    do throws(RecordFault) {
      return try Self.read(json) { coder throws(RecordFault) in try table(&coder, nil) }
    } catch {
      throw error.under("\(name)")
    }
  }

  // MARK: Members of an existing value

  /// Writes or reads a member that is always written. If it is absent, the value stays unchanged.
  package mutating func field<T: RecordValue>(_ name: StaticString, _ value: inout T) throws(RecordFault) {
    guard isReading else { return write(name, value) }
    if let read: T = try read(name) { value = read }
  }

  /// Writes or reads a member that is absent for `nil`.
  package mutating func field<T: RecordValue>(_ name: StaticString, _ value: inout T?) throws(RecordFault) {
    guard isReading else {
      if let value { write(name, value) }
      return
    }
    value = try read(name)
  }

  /// Writes or reads a member that is absent if it equals `other`.
  package mutating func field<T: RecordValue & Equatable>(
    _ name: StaticString, _ value: inout T, else other: T
  ) throws(RecordFault) {
    guard isReading else {
      if value != other { write(name, value) }
      return
    }
    value = try read(name) ?? other
  }

  /// Writes or reads a computed member. `value` is written unless it is `nil`; `set` receives the value read.
  package mutating func field<T: RecordValue>(
    _ name: StaticString, _ value: T?, _ set: (T) -> Void
  ) throws(RecordFault) {
    if isReading {
      if let read: T = try read(name) { set(read) }
    } else if let value {
      write(name, value)
    }
  }

  // MARK: Arrays

  /// Writes an array as a member; `elements` writes its elements.
  mutating func array(_ name: StaticString, _ elements: (inout RecordCoder) -> Void) {
    writer.key(name)
    writer.begin(.array)
    elements(&self)
    writer.end(.array)
  }

  mutating func element(_ value: some RecordValue) {
    writer.element()
    value.write(to: &self)
  }

  // MARK: Single members

  package func fault(_ name: StaticString, _ reason: String) -> RecordFault {
    RecordFault(reason).under("\(name)")
  }

  private mutating func write(_ name: StaticString, _ value: some RecordValue) {
    writer.key(name)
    value.write(to: &self)
  }

  /// Returns the member's value; `nil` if it is absent or null.
  private mutating func read<T: RecordValue>(_ name: StaticString) throws(RecordFault) -> T? {
    guard let json = json(name) else { return nil }
    do throws(RecordFault) { return try T.read(json) } catch { throw error.under("\(name)") }
  }

  private mutating func json(_ name: StaticString) -> JSONValue? {
    assert(!asked.contains { "\($0)" == "\(name)" }, "two lines of a table have the name \(name)")
    asked.append(name)
    guard let json = object?[name] else { return nil }
    found += 1
    return json.present
  }
}

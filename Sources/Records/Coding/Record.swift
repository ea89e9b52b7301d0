package import JSON

/// A value that is stored as an object.
package protocol Record: RecordValue {
  /// Writes or reads the members.
  /// - Parameter value: the value to write and return; `nil` to read one.
  static func members(_ coder: inout RecordCoder, _ value: Self?) throws(RecordFault) -> Self
}

extension Record {
  package func write(to coder: inout RecordCoder) {
    coder.object { coder throws(RecordFault) in _ = try Self.members(&coder, self) }
  }

  package static func read(_ json: JSONValue) throws(RecordFault) -> Self {
    try RecordCoder.read(json) { coder throws(RecordFault) in try members(&coder, nil) }
  }
}

/// A record whose members all have defaults. Reading creates it first and then sets its members.
package protocol MutableRecord: Record {
  init()
  mutating func members(_ coder: inout RecordCoder) throws(RecordFault)
}

extension MutableRecord {
  package static func members(_ coder: inout RecordCoder, _ value: Self?) throws(RecordFault) -> Self {
    var record = value ?? Self()
    try record.members(&coder)
    return record
  }
}

package import JSON
internal import TransferModel

/// A value in a document, with its stored form.
package protocol RecordValue: SendableMetatype {
  func write(to coder: inout RecordCoder)
  static func read(_ json: JSONValue) throws(RecordFault) -> Self
}

extension JSONValue {
  /// Returns the value, or throws if it is `nil`.
  /// - Parameter expected: the expected kind of value, with its article.
  func scalar<T>(_ expected: String, _ value: T?) throws(RecordFault) -> T {
    guard let value else { throw RecordFault("must be \(expected), not \(kind)") }
    return value
  }
}

extension String: RecordValue {
  package func write(to coder: inout RecordCoder) { coder.writer.value(self) }
  package static func read(_ json: JSONValue) throws(RecordFault) -> String {
    try json.scalar("a string", json.string)
  }
}

extension Bool: RecordValue {
  package func write(to coder: inout RecordCoder) { coder.writer.value(self) }
  package static func read(_ json: JSONValue) throws(RecordFault) -> Bool {
    try json.scalar("a boolean", json.bool)
  }
}

extension Int64: RecordValue {
  package func write(to coder: inout RecordCoder) { coder.writer.value(self) }
  package static func read(_ json: JSONValue) throws(RecordFault) -> Int64 {
    try json.scalar("an integer", json.integer)
  }
}

extension Int: RecordValue {
  package func write(to coder: inout RecordCoder) { coder.writer.value(Int64(self)) }
  package static func read(_ json: JSONValue) throws(RecordFault) -> Int { Int(try Int64.read(json)) }
}

extension Double: RecordValue {
  package func write(to coder: inout RecordCoder) { coder.writer.value(self) }
  package static func read(_ json: JSONValue) throws(RecordFault) -> Double {
    try json.scalar("a number", json.double.flatMap { $0.isFinite ? $0 : nil })
  }
}

extension Array: RecordValue where Element: RecordValue {
  package func write(to coder: inout RecordCoder) {
    coder.writer.begin(.array)
    for element in self { coder.element(element) }
    coder.writer.end(.array)
  }

  package static func read(_ json: JSONValue) throws(RecordFault) -> [Element] {
    var values: [Element] = []
    for (index, element) in try json.scalar("an array", json.elements).enumerated() {
      do throws(RecordFault) { values.append(try Element.read(element)) } catch {
        throw error.under("\(index)")
      }
    }
    return values
  }
}

extension RecordValue where Self: RawRepresentable, RawValue: RecordValue {
  package func write(to coder: inout RecordCoder) { rawValue.write(to: &coder) }
  package static func read(_ json: JSONValue) throws(RecordFault) -> Self {
    guard let value = Self(rawValue: try RawValue.read(json)) else {
      throw RecordFault("is not a known value")
    }
    return value
  }
}

/// A value that is stored as its description.
package protocol RecordText: RecordValue, LosslessStringConvertible {}

extension RecordText {
  package func write(to coder: inout RecordCoder) { coder.writer.value(description) }
  package static func read(_ json: JSONValue) throws(RecordFault) -> Self {
    guard let value = Self(try String.read(json)) else {
      throw RecordFault("is not the text of a known value")
    }
    return value
  }
}

/// Bytes, stored as base64.
struct RecordBytes: RecordValue {
  let bytes: [UInt8]

  func write(to coder: inout RecordCoder) { coder.writer.value(Base64.encode(bytes)) }
  static func read(_ json: JSONValue) throws(RecordFault) -> RecordBytes {
    guard let bytes = Base64.decode(try String.read(json)) else { throw RecordFault("is not base64") }
    return RecordBytes(bytes: bytes)
  }
}

internal import Glibc

/// A writer of one JSON text (RFC 8259).
///
/// Foundation's encoder costs as much as a whole small transfer, so replies and events use this writer. The caller is responsible for the
/// grammar: `object` and `array` write the brackets, `field` and `element` the commas.
package struct JSONWriter: Sendable {
  /// The text so far, in UTF-8.
  package private(set) var bytes: [UInt8] = []
  private var needsComma = false

  package init(capacity: Int = 512) { bytes.reserveCapacity(capacity) }

  /// Appends to `text`.
  package init(appendingTo text: consuming [UInt8]) { bytes = text }

  /// Appends bytes that are already JSON, as the next value.
  package mutating func raw(_ json: some Collection<UInt8>) {
    bytes.append(contentsOf: json)
    needsComma = true
  }

  package mutating func null() { literal("null") }
  package mutating func value(_ value: Bool) { literal(value ? "true" : "false") }

  package mutating func value(_ value: Int64) {
    appendDecimal(value)
    needsComma = true
  }

  /// Appends a number. Numbers without a fraction are written as integers. JSON has no infinities, so they become null.
  package mutating func value(_ value: Double) {
    guard value.isFinite else { return null() }
    if value == value.rounded(.towardZero), abs(value) < 9_007_199_254_740_992 {
      return self.value(Int64(value))
    }
    bytes.append(contentsOf: value.description.utf8)
    needsComma = true
  }

  package mutating func value(_ text: String) {
    quote(text)
    needsComma = true
  }

  /// Appends a string that `body` writes. The text must need no escaping.
  package mutating func text(_ body: (inout [UInt8]) -> Void) {
    bytes.append(UInt8(ascii: "\""))
    body(&bytes)
    bytes.append(UInt8(ascii: "\""))
    needsComma = true
  }

  // MARK: Containers

  package mutating func object(_ body: (inout JSONWriter) -> Void) {
    begin(.object)
    body(&self)
    end(.object)
  }

  package mutating func array(_ body: (inout JSONWriter) -> Void) {
    begin(.array)
    body(&self)
    end(.array)
  }

  package enum Container { case object, array }

  /// Begins a container, for a caller that cannot put the content into a closure.
  package mutating func begin(_ container: Container) {
    bytes.append(container == .object ? UInt8(ascii: "{") : UInt8(ascii: "["))
    needsComma = false
  }

  /// Ends the innermost container.
  package mutating func end(_ container: Container) {
    bytes.append(container == .object ? UInt8(ascii: "}") : UInt8(ascii: "]"))
    needsComma = true
  }

  /// Starts the next element of an array.
  package mutating func element() {
    if needsComma { bytes.append(UInt8(ascii: ",")) }
    needsComma = false
  }

  /// Starts a member whose name needs no escaping.
  package mutating func key(_ name: StaticString) {
    let begin = needsComma ? 1 : 0
    let size = begin + name.utf8CodeUnitCount + 3
    append(size) { place in
      place[0] = UInt8(ascii: ",")
      place[begin] = UInt8(ascii: "\"")
      memcpy(place + begin + 1, name.utf8Start, name.utf8CodeUnitCount)
      place[size - 2] = UInt8(ascii: "\"")
      place[size - 1] = UInt8(ascii: ":")
    }
    needsComma = false
  }

  /// Starts a member whose name may need escaping.
  package mutating func key(_ name: String) {
    if needsComma { bytes.append(UInt8(ascii: ",")) }
    quote(name)
    bytes.append(UInt8(ascii: ":"))
    needsComma = false
  }

  // MARK: Members

  package mutating func field(_ name: StaticString, _ value: String?) {
    key(name)
    if let value { self.value(value) } else { null() }
  }
  package mutating func nullField(_ name: StaticString) {
    key(name)
    null()
  }
  package mutating func field(_ name: StaticString, _ value: some JSONEncodable) {
    key(name)
    value.encode(into: &self)
  }
  package mutating func field(_ name: StaticString, _ value: (some JSONEncodable)?) {
    key(name)
    if let value { value.encode(into: &self) } else { null() }
  }
  package mutating func objectField(_ name: StaticString, _ body: (inout JSONWriter) -> Void) {
    key(name)
    object(body)
  }
  package mutating func arrayField<Element>(
    _ name: StaticString, _ elements: some Sequence<Element>, _ each: (inout JSONWriter, Element) -> Void
  ) {
    key(name)
    array { writer in
      for element in elements {
        writer.element()
        each(&writer, element)
      }
    }
  }

  // MARK: Bytes

  /// Appends `count` bytes, all of which `write` must set. The capacity is checked only once.
  @inline(__always)
  private mutating func append(_ count: Int, _ write: (UnsafeMutablePointer<UInt8>) -> Void) {
    bytes.append(addingCapacity: count) { span in
      span.withUnsafeMutableBufferPointer { buffer, initialized in
        guard let place = buffer.baseAddress else { return }
        write(place)
        initialized = count
      }
    }
  }

  private mutating func literal(_ text: StaticString) {
    append(text.utf8CodeUnitCount) { memcpy($0, text.utf8Start, text.utf8CodeUnitCount) }
    needsComma = true
  }

  private mutating func appendDecimal(_ value: Int64) {
    let sign = value < 0 ? 1 : 0
    var (size, power) = (sign + 1, value.magnitude / 10)
    while power > 0 { (size, power) = (size + 1, power / 10) }
    append(size) { place in
      place[0] = UInt8(ascii: "-")
      var (index, rest) = (size, value.magnitude)
      while index > sign {
        index -= 1
        place[index] = UInt8(ascii: "0") + UInt8(truncatingIfNeeded: rest % 10)
        rest /= 10
      }
    }
  }

  private mutating func quote(_ text: String) {
    var text = text
    text.withUTF8 { utf8 in
      guard utf8.contains(where: { JSONWriter.mustEscape($0) }) else {
        return append(utf8.count + 2) { place in
          place[0] = UInt8(ascii: "\"")
          if let text = utf8.baseAddress { memcpy(place + 1, text, utf8.count) }
          place[utf8.count + 1] = UInt8(ascii: "\"")
        }
      }
      bytes.append(UInt8(ascii: "\""))
      var start = 0
      for index in utf8.indices where JSONWriter.mustEscape(utf8[index]) {
        if start < index { bytes.append(contentsOf: utf8[start..<index]) }
        escape(utf8[index])
        start = index + 1
      }
      bytes.append(contentsOf: utf8[start...])
      bytes.append(UInt8(ascii: "\""))
    }
  }

  @inline(__always)
  private static func mustEscape(_ byte: UInt8) -> Bool {
    byte < 0x20 || byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\")
  }

  private mutating func escape(_ byte: UInt8) {
    bytes.append(UInt8(ascii: "\\"))
    switch byte {
    case UInt8(ascii: "\""), UInt8(ascii: "\\"): bytes.append(byte)
    case 0x0A: bytes.append(UInt8(ascii: "n"))
    case 0x0D: bytes.append(UInt8(ascii: "r"))
    case 0x09: bytes.append(UInt8(ascii: "t"))
    default:
      append(5) { place in
        place[0] = UInt8(ascii: "u")
        place[1] = UInt8(ascii: "0")
        place[2] = UInt8(ascii: "0")
        place[3] = hexDigit(byte >> 4)
        place[4] = hexDigit(byte & 15)
      }
    }
  }
}

/// A value that has one JSON form.
package protocol JSONEncodable {
  func encode(into writer: inout JSONWriter)
}

extension String: JSONEncodable {
  package func encode(into writer: inout JSONWriter) { writer.value(self) }
}

extension Bool: JSONEncodable {
  package func encode(into writer: inout JSONWriter) { writer.value(self) }
}

extension Int: JSONEncodable {
  package func encode(into writer: inout JSONWriter) { writer.value(Int64(self)) }
}

extension Int64: JSONEncodable {
  package func encode(into writer: inout JSONWriter) { writer.value(self) }
}

extension Double: JSONEncodable {
  package func encode(into writer: inout JSONWriter) { writer.value(self) }
}

extension JSONEncodable {
  /// The value's JSON text in UTF-8.
  package var json: [UInt8] {
    var writer = JSONWriter()
    encode(into: &writer)
    return writer.bytes
  }
}

/// Returns the lower-case hexadecimal digit of `value` (0 to 15).
package func hexDigit(_ value: UInt8) -> UInt8 {
  value < 10 ? UInt8(ascii: "0") + value : UInt8(ascii: "a") + value - 10
}

/// Returns the value of a hexadecimal digit of either case; `nil` for other bytes.
package func hexValue(of digit: UInt8) -> UInt8? {
  switch digit {
  case UInt8(ascii: "0")...UInt8(ascii: "9"): digit - UInt8(ascii: "0")
  case UInt8(ascii: "a")...UInt8(ascii: "f"): digit - UInt8(ascii: "a") + 10
  case UInt8(ascii: "A")...UInt8(ascii: "F"): digit - UInt8(ascii: "A") + 10
  default: nil
  }
}

internal import Limits

/// Why a text is not taken as JSON, and where.
package struct JSONSyntaxError: Error, Sendable, Equatable {
  package var reason: String { subject.map { "\(what) '\(BoundedText.text($0))'" } ?? what }
  private let what: String
  /// The name that `what` is about.
  fileprivate var subject: String?
  /// Bytes before the fault.
  package let offset: Int
  /// The path from the value that exceeds a limit up to the root, innermost step first; nil: the text is not JSON.
  fileprivate var path: [Step]?

  fileprivate enum Step: Sendable, Equatable {
    case member(String)
    case element(Int)
  }

  package init(reason: String, offset: Int, isExcess: Bool = false) {
    what = reason
    self.offset = offset
    path = isExcess ? [] : nil
  }

  package static func == (left: Self, right: Self) -> Bool {
    left.reason == right.reason && left.offset == right.offset && left.path == right.path
  }

  /// A JSON pointer to the value that exceeds a limit (RFC 8259 §9); nil: the text is not JSON.
  package var excess: String? {
    path?.reversed().reduce("") { pointer, step in
      switch step {
      case .member(let name): JSONPointer.appending(name, to: pointer)
      case .element(let index): JSONPointer.appending(String(index), to: pointer)
      }
    }
  }
}

extension JSONSyntaxError: CustomStringConvertible {
  package var description: String { "\(reason), at byte \(offset)" }
}

/// A strict parser of RFC 8259: valid UTF-8 only, no duplicate names, a bounded depth and number of values.
package struct JSONParser {
  private let bytes: [UInt8]
  private let start: Int
  private let end: Int
  private var index: Int
  private var values = 0
  private let maximumDepth = Limits.jsonDepth.value
  private let maximumValues = Limits.jsonValues.value
  /// A reused buffer for strings with escapes.
  private var decoded: [UInt8] = []
  /// The path from a value that exceeds a limit up to the root.
  private var path: [JSONSyntaxError.Step] = []

  private init(bytes: [UInt8], start: Int, end: Int) {
    self.bytes = bytes
    self.start = start
    self.end = end
    index = start
  }

  package static func parse(_ bytes: [UInt8]) throws(JSONSyntaxError) -> JSONValue {
    try parse(bytes, in: 0..<bytes.count)
  }

  /// Parses the one value in a range of `bytes`. Offsets in errors count from the start of the range.
  package static func parse(_ bytes: [UInt8], in range: Range<Int>) throws(JSONSyntaxError) -> JSONValue {
    var parser = JSONParser(bytes: bytes, start: range.lowerBound, end: range.upperBound)
    let value = try parser.rootValue()
    parser.skipWhitespace()
    guard parser.index == parser.end else { throw parser.fault("unexpected text after the value") }
    return value
  }

  private mutating func rootValue() throws(JSONSyntaxError) -> JSONValue {
    do throws(JSONSyntaxError) { return try value(depth: 0) } catch {
      guard error.path != nil else { throw error }
      var error = error
      error.path = path
      throw error
    }
  }

  private mutating func value(depth: Int) throws(JSONSyntaxError) -> JSONValue {
    guard depth < maximumDepth else { throw excess("nested too deeply") }
    values += 1
    guard values <= maximumValues else {
      throw excess("more than \(maximumValues) values")
    }
    skipWhitespace()
    guard index < end else { throw fault("unexpected end") }
    switch bytes[index] {
    case UInt8(ascii: "{"): return try object(depth: depth)
    case UInt8(ascii: "["): return try array(depth: depth)
    case UInt8(ascii: "\""): return .string(try string())
    case UInt8(ascii: "t"): return try literal("true", .bool(true))
    case UInt8(ascii: "f"): return try literal("false", .bool(false))
    case UInt8(ascii: "n"): return try literal("null", .null)
    case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"): return try number()
    default: throw fault("unexpected character")
    }
  }

  private mutating func object(depth: Int) throws(JSONSyntaxError) -> JSONValue {
    index += 1
    skipWhitespace()
    if take(UInt8(ascii: "}")) { return .object([]) }
    var members: [JSONValue.Member] = []
    var names = NameSet()
    while true {
      skipWhitespace()
      guard index < end, bytes[index] == UInt8(ascii: "\"") else { throw fault("expected a member name") }
      let name = try string()
      guard names.insert(name, after: members) else {
        var error = fault("duplicate member")
        error.subject = name
        throw error
      }
      skipWhitespace()
      guard take(UInt8(ascii: ":")) else { throw fault("expected ':'") }
      do throws(JSONSyntaxError) {
        let member = JSONValue.Member(name: name, value: try value(depth: depth + 1))
        if members.isEmpty { members = [member] } else { members.append(member) }
      } catch {
        if error.path != nil { path.append(.member(name)) }
        throw error
      }
      skipWhitespace()
      if take(UInt8(ascii: "}")) { return .object(members) }
      guard take(UInt8(ascii: ",")) else { throw fault("expected ',' or '}'") }
    }
  }

  private mutating func array(depth: Int) throws(JSONSyntaxError) -> JSONValue {
    index += 1
    skipWhitespace()
    if take(UInt8(ascii: "]")) { return .array([]) }
    var values: [JSONValue] = []
    while true {
      do throws(JSONSyntaxError) {
        let value = try value(depth: depth + 1)
        // A literal allocates room for just one value.
        if values.isEmpty { values = [value] } else { values.append(value) }
      } catch {
        if error.path != nil { path.append(.element(values.count)) }
        throw error
      }
      skipWhitespace()
      if take(UInt8(ascii: "]")) { return .array(values) }
      guard take(UInt8(ascii: ",")) else { throw fault("expected ',' or ']'") }
    }
  }

  private mutating func literal(_ text: StaticString, _ value: JSONValue) throws(JSONSyntaxError) -> JSONValue
  {
    let count = text.utf8CodeUnitCount
    let matches =
      index + count <= end
      && text.withUTF8Buffer { expected in (0..<count).allSatisfy { bytes[index + $0] == expected[$0] } }
    guard matches else { throw fault("unexpected character") }
    index += count
    return value
  }

  private mutating func number() throws(JSONSyntaxError) -> JSONValue {
    let start = index
    var isInteger = true
    let isNegative = take(UInt8(ascii: "-"))
    let first = index
    var magnitude: UInt64 = 0
    while index < end, bytes[index] &- UInt8(ascii: "0") < 10 {
      magnitude = magnitude &* 10 &+ UInt64(bytes[index] &- UInt8(ascii: "0"))
      index += 1
    }
    let digits = index - first
    guard digits > 0, digits == 1 || bytes[first] != UInt8(ascii: "0") else {
      throw fault("malformed number")
    }
    if take(UInt8(ascii: ".")) {
      isInteger = false
      guard skipDigits() > 0 else { throw fault("malformed number") }
    }
    if index < end, bytes[index] | 0x20 == UInt8(ascii: "e") {
      isInteger = false
      index += 1
      if !take(UInt8(ascii: "+")) { _ = take(UInt8(ascii: "-")) }
      guard skipDigits() > 0 else { throw fault("malformed number") }
    }
    if isInteger, digits <= Self.shortDigits {
      return .integer(isNegative ? -Int64(magnitude) : Int64(magnitude))
    }
    if !isInteger, let value = shortNumber(from: start) { return .number(value) }
    let text = String(decoding: bytes[start..<index], as: UTF8.self)
    if isInteger, let value = Int64(text) { return .integer(value) }
    guard let value = Double(text), value.isFinite else { throw excess("number out of range") }
    return .number(value)
  }

  /// So many digits always fit.
  private static let shortDigits = 18

  /// The value of a number with few digits and a small exponent; nil: either is too large. The digits and the power of ten are exact as
  /// doubles, so their product or quotient rounds correctly (Clinger, "How to read floating point numbers accurately", §3).
  private func shortNumber(from start: Int) -> Double? {
    var (digits, count, fractionDigits, exponent): (Int64, Int, Int, Int) = (0, 0, 0, 0)
    var (isFraction, isExponent, hasNegativeExponent) = (false, false, false)
    for place in start..<index {
      switch bytes[place] {
      case UInt8(ascii: "."): isFraction = true
      case UInt8(ascii: "e"), UInt8(ascii: "E"): isExponent = true
      case UInt8(ascii: "-") where isExponent: hasNegativeExponent = true
      case UInt8(ascii: "-"), UInt8(ascii: "+"): break
      case let byte where isExponent:
        exponent = exponent * 10 + Int(byte - UInt8(ascii: "0"))
        guard exponent <= Self.powersOfTen.count else { return nil }
      case let byte:
        digits = digits * 10 + Int64(byte - UInt8(ascii: "0"))
        count += 1
        fractionDigits += isFraction ? 1 : 0
        guard count <= Self.exactDigits else { return nil }
      }
    }
    let power = (hasNegativeExponent ? -exponent : exponent) - fractionDigits
    guard abs(power) < Self.powersOfTen.count else { return nil }
    let value =
      power < 0 ? Double(digits) / Self.powersOfTen[-power] : Double(digits) * Self.powersOfTen[power]
    return bytes[start] == UInt8(ascii: "-") ? -value : value
  }

  /// A Double represents every integer of at most this many digits exactly.
  private static let exactDigits = 15
  /// The powers of ten that a Double represents exactly.
  private static let powersOfTen: [Double] = [
    1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18,
    1e19,
    1e20, 1e21, 1e22,
  ]

  private mutating func skipDigits() -> Int {
    let start = index
    while index < end, bytes[index] &- UInt8(ascii: "0") < 10 { index += 1 }
    return index - start
  }

  private mutating func string() throws(JSONSyntaxError) -> String {
    index += 1
    let start = index
    while index < end {
      switch bytes[index] {
      case UInt8(ascii: "\""):
        let text = try text(bytes.span.extracting(start..<index))
        index += 1
        return text
      case UInt8(ascii: "\\"): return try escapedString(from: start)
      case 0..<0x20: throw fault("control character in a string")
      default: index += 1
      }
    }
    throw fault("unterminated string")
  }

  private func text(_ bytes: borrowing Span<UInt8>) throws(JSONSyntaxError) -> String {
    do { return String(copying: try UTF8Span(validating: copy bytes)) } catch {
      throw fault("text is not UTF-8")
    }
  }

  private mutating func escapedString(from start: Int) throws(JSONSyntaxError) -> String {
    decoded.removeAll(keepingCapacity: true)
    decoded.append(contentsOf: bytes[start..<index])
    while index < end {
      let byte = bytes[index]
      index += 1
      switch byte {
      case UInt8(ascii: "\""):
        return try text(decoded.span)
      case UInt8(ascii: "\\"): try escape()
      case 0..<0x20: throw fault("control character in a string")
      default: decoded.append(byte)
      }
    }
    throw fault("unterminated string")
  }

  private mutating func escape() throws(JSONSyntaxError) {
    guard index < end else { throw fault("unterminated string") }
    let byte = bytes[index]
    index += 1
    switch byte {
    case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): decoded.append(byte)
    case UInt8(ascii: "b"): decoded.append(0x08)
    case UInt8(ascii: "f"): decoded.append(0x0C)
    case UInt8(ascii: "n"): decoded.append(0x0A)
    case UInt8(ascii: "r"): decoded.append(0x0D)
    case UInt8(ascii: "t"): decoded.append(0x09)
    case UInt8(ascii: "u"):
      var unit = try codeUnit()
      if unit & 0xFC00 == 0xD800 {
        guard take(UInt8(ascii: "\\")), take(UInt8(ascii: "u")) else { throw fault("lone surrogate") }
        let low = try codeUnit()
        guard low & 0xFC00 == 0xDC00 else { throw fault("lone surrogate") }
        unit = 0x10000 + (unit & 0x3FF) << 10 + (low & 0x3FF)
      }
      guard let scalar = Unicode.Scalar(unit) else { throw fault("lone surrogate") }
      for byte in UTF8.encode(scalar) ?? UTF8.encodedReplacementCharacter { decoded.append(byte) }
    default: throw fault("unknown escape")
    }
  }

  private mutating func codeUnit() throws(JSONSyntaxError) -> UInt32 {
    guard index + 4 <= end else { throw fault("unterminated escape") }
    var unit: UInt32 = 0
    for place in index..<index + 4 {
      let byte = bytes[place]
      switch byte {
      case UInt8(ascii: "0")...UInt8(ascii: "9"): unit = unit << 4 | UInt32(byte - UInt8(ascii: "0"))
      case UInt8(ascii: "a")...UInt8(ascii: "f"): unit = unit << 4 | UInt32(byte - UInt8(ascii: "a") + 10)
      case UInt8(ascii: "A")...UInt8(ascii: "F"): unit = unit << 4 | UInt32(byte - UInt8(ascii: "A") + 10)
      default: throw fault("malformed escape")
      }
    }
    index += 4
    return unit
  }

  @inline(__always)
  private mutating func skipWhitespace() {
    if index < end, bytes[index] <= 0x20 { skipBlanks() }
  }

  private mutating func skipBlanks() {
    while index < end {
      switch bytes[index] {
      case 0x20, 0x0A, 0x0D, 0x09: index += 1
      default: return
      }
    }
  }

  private mutating func take(_ byte: UInt8) -> Bool {
    guard index < end, bytes[index] == byte else { return false }
    index += 1
    return true
  }

  private func fault(_ reason: String) -> JSONSyntaxError {
    JSONSyntaxError(reason: reason, offset: index - start)
  }
  private func excess(_ reason: String) -> JSONSyntaxError {
    JSONSyntaxError(reason: reason, offset: index - start, isExcess: true)
  }
}

/// The names of one object, compared by bytes: names that only look alike are different (RFC 8259 §8.3).
private struct NameSet {
  private struct Name: Hashable {
    let text: String
    static func == (left: Name, right: Name) -> Bool { NameSet.areEqual(left.text, right.text) }
    func hash(into hasher: inout Hasher) {
      var text = text
      text.withUTF8 { hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
    }
  }
  private static let fewNames = 12
  private var many: Set<Name> = []

  /// False if one of the members has the name already. Few members are compared one by one.
  mutating func insert(_ name: String, after members: [JSONValue.Member]) -> Bool {
    guard members.count < Self.fewNames else {
      if many.isEmpty { many = Set(members.map { Name(text: $0.name) }) }
      return many.insert(Name(text: name)).inserted
    }
    return !members.contains { Self.areEqual($0.name, name) }
  }

  private static func areEqual(_ left: String, _ right: String) -> Bool {
    guard left.utf8.count == right.utf8.count else { return false }
    let (first, second) = (left.utf8Span.span, right.utf8Span.span)
    for place in first.indices where first[place] != second[place] { return false }
    return true
  }
}

internal import Limits

/// The reason why a text is not accepted as JSON, and its position.
package struct JSONSyntaxError: Error, Sendable, Equatable {
  package var reason: String { subject.map { "\(what) '\(BoundedText.text($0))'" } ?? what }
  private let what: String
  /// The name that `what` is about.
  private let subject: String?
  /// The number of bytes before the fault.
  package let offset: Int
  /// The records before the value that exceeds a limit; `nil` if the text is not JSON.
  private let tape: JSONTape?

  init(reason: String, subject: String? = nil, offset: Int, before tape: JSONTape? = nil) {
    what = reason
    self.subject = subject
    self.offset = offset
    self.tape = tape
  }

  /// A JSON pointer to the value that exceeds a limit (RFC 8259 §9); `nil` if the text is not JSON.
  package var excess: String? { tape?.pointerToNext }

  package static func == (left: Self, right: Self) -> Bool {
    left.reason == right.reason && left.offset == right.offset && left.excess == right.excess
  }
}

extension JSONSyntaxError: CustomStringConvertible {
  package var description: String { "\(reason), at byte \(offset)" }
}

/// A strict parser of RFC 8259: valid UTF-8 only, no duplicate names, a bounded depth and number of values.
///
/// Reuse a parser to save allocations: it reuses its list of records if no earlier `JSONValue` is alive.
package struct JSONParser {
  private var bytes: [UInt8] = []
  private var (start, end, index) = (0, 0, 0)
  private var records: [JSONTape.Record] = []
  private var values = 0
  /// The initial capacity of `records`.
  private static let expectedRecords = 16
  private let maximumDepth: Int
  /// The depth that fits into the stack of every thread. Documents of Ferry itself have less.
  private static let recursion = 512
  private let maximumValues: Int

  package init(isLimited: Bool = true) {
    maximumDepth = isLimited ? Limits.jsonDepth.value : Self.recursion
    maximumValues = isLimited ? Limits.jsonValues.value : .max
  }

  package static func parse(_ bytes: [UInt8], isLimited: Bool = true) throws(JSONSyntaxError) -> JSONValue {
    var parser = JSONParser(isLimited: isLimited)
    return try parser.parse(bytes, in: bytes.indices)
  }

  /// Parses the one value in a range of `bytes`. Offsets in errors count from the start of the range.
  package mutating func parse(_ bytes: [UInt8], in range: Range<Int>) throws(JSONSyntaxError) -> JSONValue {
    precondition(bytes.count <= UInt32.max)
    self.bytes = bytes
    (start, end, index, values) = (range.lowerBound, range.upperBound, range.lowerBound, 0)
    if !records.isEmpty { records.removeAll(keepingCapacity: true) }
    // Each value takes at least two bytes, its comma included.
    records.reserveCapacity(min(Self.expectedRecords, range.count / 2 + 1))
    try value(depth: 0)
    skipWhitespace()
    guard index == end else { throw fault("unexpected text after the value") }
    return JSONValue(JSONTape(bytes: bytes, records: records))
  }

  private mutating func value(depth: Int) throws(JSONSyntaxError) {
    guard depth < maximumDepth else { throw excess("nested too deeply") }
    values += 1
    guard values <= maximumValues else { throw excess("more than \(maximumValues) values") }
    skipWhitespace()
    guard index < end else { throw fault("unexpected end") }
    switch bytes[index] {
    case UInt8(ascii: "{"): try object(depth: depth)
    case UInt8(ascii: "["): try array(depth: depth)
    case UInt8(ascii: "\""): _ = try string()
    case UInt8(ascii: "t"): try literal("true", .bool)
    case UInt8(ascii: "f"): try literal("false", .bool)
    case UInt8(ascii: "n"): try literal("null", .null)
    case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"): try number()
    default: throw fault("unexpected character")
    }
  }

  private mutating func object(depth: Int) throws(JSONSyntaxError) {
    let place = openContainer(.object)
    skipWhitespace()
    if consume(UInt8(ascii: "}")) { return closeContainer(place, 0) }
    var (count, hasEscapes) = (0, false)
    while true {
      skipWhitespace()
      guard index < end, bytes[index] == UInt8(ascii: "\"") else { throw fault("expected a member name") }
      let name = try string()
      count += 1
      hasEscapes = hasEscapes || records[name].hasEscapes
      skipWhitespace()
      guard consume(UInt8(ascii: ":")) else { throw fault("expected ':'") }
      try value(depth: depth + 1)
      skipWhitespace()
      if consume(UInt8(ascii: "}")) { break }
      guard consume(UInt8(ascii: ",")) else { throw fault("expected ',' or '}'") }
    }
    closeContainer(place, count)
    let isLarge = count > Self.fewMembers || hasEscapes
    if let name = isLarge ? repeatedNameOfMany(in: place) : repeatedName(in: place) {
      throw JSONSyntaxError(
        reason: "duplicate member", subject: JSONTape.text(of: records[name], in: bytes),
        offset: Int(records[name].endOrCount) + 1 - start)
    }
  }

  private mutating func array(depth: Int) throws(JSONSyntaxError) {
    let place = openContainer(.array)
    skipWhitespace()
    if consume(UInt8(ascii: "]")) { return closeContainer(place, 0) }
    var count = 0
    while true {
      try value(depth: depth + 1)
      count += 1
      skipWhitespace()
      if consume(UInt8(ascii: "]")) { return closeContainer(place, count) }
      guard consume(UInt8(ascii: ",")) else { throw fault("expected ',' or ']'") }
    }
  }

  // MARK: Records

  /// Appends a record for the container, skips its bracket, and returns the record's index.
  private mutating func openContainer(_ kind: JSONTape.Record.Kind) -> Int {
    records.append(JSONTape.Record(kind: kind, start: UInt32(index)))
    index += 1
    return records.count - 1
  }

  private mutating func closeContainer(_ place: Int, _ count: Int) {
    records[place].endOrCount = UInt32(count)
    records[place].next = UInt32(records.count)
  }

  /// Appends the record of a scalar whose text ends at `index`.
  @inline(__always)
  private mutating func append(_ kind: JSONTape.Record.Kind, from start: Int, hasEscapes: Bool = false) {
    let next = UInt32(records.count + 1)
    records.append(
      JSONTape.Record(
        kind: kind, hasEscapes: hasEscapes, start: UInt32(start), endOrCount: UInt32(index), next: next))
  }

  // MARK: Names

  /// The largest number of members that are checked for duplicates pairwise, without a hash table.
  private static let fewMembers = 12

  /// Returns the first name that repeats an earlier one. The check runs at the object's end, so that syntax errors in the object are
  /// reported first. Names are compared by bytes, so names that only look alike are different (RFC 8259 §8.3).
  private func repeatedName(in object: Int) -> Int? {
    let (bytes, records, end) = (bytes.span, records.span, Int(records[object].next))
    var name = object + 1
    while name < end {
      let text = bytes.extracting(records[name].range)
      var earlier = object + 1
      while earlier < name {
        if bytes.extracting(records[earlier].range).equals(text) { return name }
        earlier = Int(records[earlier + 1].next)
      }
      name = Int(records[name + 1].next)
    }
    return nil
  }

  private func repeatedNameOfMany(in object: Int) -> Int? {
    var names = Set<Name>(minimumCapacity: Int(records[object].endOrCount))
    var name = object + 1
    while name < records[object].next {
      let text = JSONTape.text(of: records[name], in: bytes)
      guard names.insert(Name(text: text)).inserted else { return name }
      name = Int(records[name + 1].next)
    }
    return nil
  }

  private struct Name: Hashable {
    let text: String
    static func == (left: Name, right: Name) -> Bool { left.text.hasSameBytes(as: right.text) }
    func hash(into hasher: inout Hasher) {
      var text = text
      text.withUTF8 { hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
    }
  }

  // MARK: Scalars

  private mutating func literal(_ text: StaticString, _ kind: JSONTape.Record.Kind) throws(JSONSyntaxError) {
    let start = index
    let count = text.utf8CodeUnitCount
    let matches =
      index + count <= end
      && text.withUTF8Buffer { expected in (0..<count).allSatisfy { bytes[index + $0] == expected[$0] } }
    guard matches else { throw fault("unexpected character") }
    index += count
    append(kind, from: start)
  }

  private mutating func number() throws(JSONSyntaxError) {
    let start = index
    _ = consume(UInt8(ascii: "-"))
    let first = index
    var magnitude = Magnitude()
    while let digit = takeDigit() { magnitude.add(digit) }
    let digits = index - first
    guard digits > 0, digits == 1 || bytes[first] != UInt8(ascii: "0") else {
      throw fault("malformed number")
    }
    var isInteger = true
    if consume(UInt8(ascii: ".")) {
      isInteger = false
      let first = index
      while let digit = takeDigit() { magnitude.add(fraction: digit) }
      guard index > first else { throw fault("malformed number") }
    }
    if index < end, bytes[index] | 0x20 == UInt8(ascii: "e") {
      isInteger = false
      index += 1
      let isNegative = !consume(UInt8(ascii: "+")) && consume(UInt8(ascii: "-"))
      var (first, power) = (index, 0)
      while let digit = takeDigit() { power = min(power * 10 + Int(digit), 1 << 32) }
      guard index > first else { throw fault("malformed number") }
      magnitude.scale(byPowerOfTen: isNegative ? -power : power)
    }
    guard magnitude.exponent <= Self.largestExponent else { throw excess("number out of range") }
    // An integer outside the range of Int64 is stored as `number`.
    isInteger =
      isInteger
      && (digits <= Self.shortDigits || Int64(String(decoding: bytes[start..<index], as: UTF8.self)) != nil)
    append(isInteger ? .integer : .number, from: start)
  }

  /// The decimal exponent of a number in scientific notation: 2 for 123, -2 for 0.012, 0 for 0.
  private struct Magnitude {
    private(set) var exponent = 0
    private var isZero = true
    private var leadingZeros = 0

    mutating func add(_ digit: UInt8) {
      if isZero { isZero = digit == 0 } else { exponent += 1 }
    }
    mutating func add(fraction digit: UInt8) {
      guard isZero else { return }
      leadingZeros += 1
      guard digit != 0 else { return }
      (isZero, exponent) = (false, -leadingZeros)
    }
    mutating func scale(byPowerOfTen power: Int) { if !isZero { exponent += power } }
  }

  /// The number of digits with which every integer fits into an Int64.
  private static let shortDigits = 18
  /// The decimal exponent of the largest Double.
  private static let largestExponent = 308

  private mutating func takeDigit() -> UInt8? {
    guard index < end, bytes[index] &- UInt8(ascii: "0") < 10 else { return nil }
    defer { index += 1 }
    return bytes[index] &- UInt8(ascii: "0")
  }

  /// Parses a string and returns the index of its record.
  private mutating func string() throws(JSONSyntaxError) -> Int {
    index += 1
    let start = index
    var (hasEscapes, isASCII) = (false, true)
    while index < end {
      let byte = bytes[index]
      switch byte {
      case UInt8(ascii: "\""):
        guard isASCII || isUTF8(start..<index) else { throw fault("text is not UTF-8") }
        append(.string, from: start, hasEscapes: hasEscapes)
        index += 1
        return records.count - 1
      case UInt8(ascii: "\\"):
        hasEscapes = true
        index += 1
        try skipEscape()
      case 0..<0x20: throw fault("control character in a string")
      default:
        isASCII = isASCII && byte < 0x80
        index += 1
      }
    }
    throw fault("unterminated string")
  }

  /// Whether a string's text is valid UTF-8. Escape sequences are ASCII, so checking the undecoded text is enough.
  private func isUTF8(_ range: Range<Int>) -> Bool {
    (try? UTF8Span(validating: bytes.span.extracting(range))) != nil
  }

  private mutating func skipEscape() throws(JSONSyntaxError) {
    guard index < end else { throw fault("unterminated string") }
    let byte = bytes[index]
    index += 1
    switch byte {
    case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"), UInt8(ascii: "b"), UInt8(ascii: "f"),
      UInt8(ascii: "n"), UInt8(ascii: "r"), UInt8(ascii: "t"):
      break
    case UInt8(ascii: "u"):
      let unit = try codeUnit()
      guard unit & 0xF800 == 0xD800 else { return }
      guard unit & 0xFC00 == 0xD800, consume(UInt8(ascii: "\\")), consume(UInt8(ascii: "u")),
        try codeUnit() & 0xFC00 == 0xDC00
      else { throw fault("lone surrogate") }
    default: throw fault("unknown escape")
    }
  }

  private mutating func codeUnit() throws(JSONSyntaxError) -> UInt32 {
    guard index + 4 <= end else { throw fault("unterminated escape") }
    guard let unit = JSONText.codeUnit(bytes.span, at: index) else { throw fault("malformed escape") }
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

  private mutating func consume(_ byte: UInt8) -> Bool {
    guard index < end, bytes[index] == byte else { return false }
    index += 1
    return true
  }

  private func fault(_ reason: String) -> JSONSyntaxError {
    JSONSyntaxError(reason: reason, offset: index - start)
  }
  private func excess(_ reason: String) -> JSONSyntaxError {
    JSONSyntaxError(
      reason: reason, offset: index - start, before: JSONTape(bytes: bytes, records: records))
  }
}

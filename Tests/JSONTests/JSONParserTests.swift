import Limits
import Testing

@testable import JSON

@Suite struct JSONParserTests {
  private func parse(_ text: String) throws -> JSONValue { try JSONParser.parse(Array(text.utf8)) }

  static let valid: [(String, JSONValue)] = [
    ("null", .null), ("true", .bool(true)), (" \t\r\n false \n", .bool(false)),
    ("0", .integer(0)), ("-0", .integer(0)), ("-12", .integer(-12)),
    ("9223372036854775807", .integer(.max)), ("-9223372036854775808", .integer(.min)),
    ("9223372036854775808", .number(9_223_372_036_854_775_808)),
    ("0.5", .number(0.5)), ("-1.25e2", .number(-125)), ("1E+2", .number(100)), ("2e-1", .number(0.2)),
    ("0e0", .number(0)), ("1.0", .number(1)),
    (#""""#, .string("")), (#""a/b""#, .string("a/b")),
    (#""\"\\\/\b\f\n\r\t""#, .string("\"\\/\u{8}\u{C}\n\r\t")),
    (#""\u0041\u00e9\u20AC""#, .string("Aé€")), (#""\ud83d\ude00""#, .string("😀")),
    (#""\uDBFF\uDFFF""#, .string("\u{10FFFF}")), (#""x\u0000y""#, .string("x\0y")),
    ("\"é😀\u{7F}\"", .string("é😀\u{7F}")),
    ("[]", .array([])), ("[ ]", .array([])), ("[1 , [2]]", .array([.integer(1), .array([.integer(2)])])),
    ("{}", .object([])), ("{ }", .object([])),
    (
      #"{"b":1, "a":{"b":null}}"#,
      .object([
        .init(name: "b", value: .integer(1)),
        .init(name: "a", value: .object([.init(name: "b", value: .null)])),
      ])
    ),
    (
      #"{"a":1,"A":2}"#,
      .object([.init(name: "a", value: .integer(1)), .init(name: "A", value: .integer(2))])
    ),
  ]

  @Test(arguments: valid)
  func `valid texts are parsed`(_ text: String, _ expected: JSONValue) throws {
    #expect(try parse(text) == expected)
  }

  @Test(arguments: [
    "", " ", "nul", "nulll", "True", "tru", "fals", "nan", "NaN", "Infinity", "-", "+1", "01", "-01", "00",
    "1.", ".5", "-.5", "1e", "1e+", "1.e1", "0x10", "1_000", "1 2", "1e400", "-1e400",
    "[", "]", "[1", "[1,", "[1,]", "[,1]", "[1 2]", "[1}", "{", "}", "{\"a\"", "{\"a\":", "{\"a\":1",
    "{\"a\":1,",
    "{\"a\":1,}", "{,}", "{a:1}", "{1:1}", "{\"a\" 1}", "{\"a\":1 \"b\":2}", "{\"a\":1]", "{'a':1}",
    #"{"a":1,"a":2}"#, #"{"a":1,"\u0061":2}"#, #"{"":1,"":1}"#, #"[{"x":{"k":1,"k":1}}]"#,
    "\"", "\"a", "\"\\", "\"\\\"", #""\x""#, #""\u""#, #""\u12""#, #""\u12g4""#, #""\u+123""#, #""\U0041""#,
    #""\ud800""#, #""\ud800x""#, #""\ud800\n""#, #""\ud800\u0041""#, #""\ud800\ud800""#, #""\udc00""#,
    "\"\n\"", "\"\t\"", "\"\u{0}\"", "\"\\n\u{1F}\"", "// c\n1", "1 // c", "\u{FEFF}1", "\u{A0}1",
  ])
  func `invalid texts are refused`(_ text: String) {
    #expect(throws: JSONSyntaxError.self) { try parse(text) }
  }

  @Test(arguments: [
    [0xFF], [0xC3], [0xC0, 0x80], [0xE2, 0x82], [0xED, 0xA0, 0x80], [0xF4, 0x90, 0x80, 0x80], [0x80],
    [0xF0, 0x80, 0x80, 0x80],
  ])
  func `text in another encoding is refused`(_ bytes: [UInt8]) {
    for start in [Array("\"".utf8), Array("\"\\n".utf8)] {
      #expect(throws: JSONSyntaxError.self) { try JSONParser.parse(start + bytes + Array("\"".utf8)) }
    }
    #expect(throws: JSONSyntaxError.self) { try JSONParser.parse(bytes) }
  }

  @Test(arguments: [("[", "]"), ("{\"a\":", "}")])
  func `depth is limited`(_ open: String, _ close: String) throws {
    func nested(_ levels: Int) -> String {
      String(repeating: open, count: levels) + "1" + String(repeating: close, count: levels)
    }
    #expect(throws: Never.self) { try parse(nested(63)) }
    let fault = #expect(throws: JSONSyntaxError.self) { try parse(nested(65)) }
    #expect(fault?.reason == "nested too deeply")
    #expect(throws: JSONSyntaxError.self) { try parse(String(repeating: open, count: 100_000)) }
  }

  @Test func `container at the last level is accepted`() throws {
    func nested(_ levels: Int) -> String {
      String(repeating: "[", count: levels) + String(repeating: "]", count: levels)
    }
    #expect(throws: Never.self) { try parse(nested(Limits.jsonDepth.value)) }
    #expect(throws: JSONSyntaxError.self) { try parse(nested(Limits.jsonDepth.value + 1)) }
  }

  /// RFC 8259 §8.3: names are compared code unit by code unit, without normalisation.
  @Test func `names that only look alike are no duplicates`() throws {
    let value = try parse(#"{"\u00e9":1,"e\u0301":2}"#)
    #expect(value.members?.count == 2)
  }

  @Test(arguments: [
    ("[1,x]", 3, "unexpected character"), ("1 2", 2, "unexpected text after the value"),
    ("  ", 2, "unexpected end"), ("[1", 2, "expected ',' or ']'"), ("{\"a\"}", 4, "expected ':'"),
    ("{1", 1, "expected a member name"),
  ])
  func `error states its offset and reason`(_ text: String, _ offset: Int, _ reason: String) {
    let fault = #expect(throws: JSONSyntaxError.self) { try parse(text) }
    #expect(fault == JSONSyntaxError(reason: reason, offset: offset))
  }

  static let ranges: [(String, Range<Int>, JSONValue?)] = [
    ("xx12yy", 2..<4, .integer(12)), ("1234", 1..<3, .integer(23)), ("true", 0..<3, nil),
    ("[1]]", 0..<3, .array([.integer(1)])), ("\"ab\"", 0..<3, nil), (#""\u0041""#, 0..<5, nil),
    ("1.5", 0..<2, nil), ("1e5", 0..<1, .integer(1)), ("12", 1..<1, nil), ("  7  ", 0..<4, .integer(7)),
  ]

  @Test(arguments: ranges)
  func `parser stays inside its range`(_ text: String, _ range: Range<Int>, _ expected: JSONValue?) {
    var parser = JSONParser()
    #expect((try? parser.parse(Array(text.utf8), in: range)) == expected)
  }

  @Test func offsetsCountFromTheStartOfTheRange() {
    let bytes = Array("{}\n[1,x]".utf8)
    var parser = JSONParser()
    let error = #expect(throws: JSONSyntaxError.self) { try parser.parse(bytes, in: 3..<bytes.count) }
    #expect(error?.offset == 3)
  }

  @Test func `value survives the next text of its parser`() throws {
    var parser = JSONParser()
    let texts = [#"[1,{"a":"b"}]"#, "{", "[2]", "3"].map { Array($0.utf8) }
    let values = texts.map { try? parser.parse($0, in: $0.indices) }
    #expect(values == texts.map { try? JSONParser.parse($0) })
  }

  @Test(arguments: [
    ("1e999", ""), ("[1e999]", "/0"), ("[0,[],[[2]],1e999]", "/3"), (#"{"":1e999}"#, "/"),
    (#"{"a":{"b":[]},"c/~":[{},{"d":"e","\u0066":-1e999}]}"#, "/c~1~0/1/f"),
    (String(repeating: "[0,", count: 64) + "0", String(repeating: "/1", count: 63) + "/0"),
  ])
  func excessPointerNamesTheValue(_ text: String, _ pointer: String) {
    let error = #expect(throws: JSONSyntaxError.self) { try parse(text) }
    #expect(error?.excess == pointer)
  }
}

import Testing

@testable import JSON

@Suite struct JSONValueTests {
  private func parse(_ text: String) throws -> JSONValue { try JSONParser.parse(Array(text.utf8)) }
  private func written(_ text: String) throws -> String {
    String(decoding: try parse(text).json, as: UTF8.self)
  }

  /// Equal values have equal texts, because a repeated answer to a decision is compared by its text.
  @Test(arguments: [
    ("1.0", "1"), ("1E5", "100000"), ("-0", "0"), ("-0.0", "0"), ("0.10", "0.1"), ("1e-7", "1e-07"),
    ("3e1", "30"),
    ("30." + String(repeating: "0", count: 5000), "30"), ("-9223372036854775808", "-9223372036854775808"),
  ]) func eachNumberIsWrittenInOneForm(_ text: String, _ expected: String) throws {
    #expect(try written("[\(text)]") == "[\(expected)]")
  }

  @Test(arguments: [
    ("0", 0), ("1.0", 1), ("-1.5e-7", -1.5e-7), ("0.1e300", 1e299), ("1e308", 1e308), ("1.8e308", .infinity),
    ("-1.8e308", -.infinity), ("1e-400", 0), ("0e999999999999999999999", 0), ("0.00001e313", 1e308),
    ("123456789012345678901234567890", 1.2345678901234568e29),
    ("-9223372036854775809", -9.223372036854775809e18),
  ]) func doubleRoundsToNearest(_ text: String, _ expected: Double) throws {
    #expect(try parse(text).double == expected)
  }

  @Test(arguments: [
    "10e308", "1e309", "-1e309", "0.0001e313", "1e99999999999999999999",
    "1" + String(repeating: "0", count: 309),
  ]) func exponentBeyondDoubleIsRefused(_ text: String) {
    let error = #expect(throws: JSONSyntaxError.self) { try parse("[0,\(text)]") }
    #expect(error?.reason == "number out of range" && error?.excess == "/1")
  }

  @Test(
    arguments: [
      ("9223372036854775807", .max, .max), ("-9223372036854775808", .min, .min), ("-0", 0, 0), ("-1", -1, -1),
      ("9223372036854775808", nil, nil), ("1.0", nil, 1), ("1e3", nil, 1000), ("1.5", nil, nil),
      ("1.8e308", nil, nil),
      ("100000000000000000000", nil, nil), ("\"1\"", nil, nil),
    ] as [(String, Int64?, Int64?)])
  func integerTakesNoFractionAndWholeNumberTakesZeroFraction(
    _ text: String, _ integer: Int64?, _ whole: Int64?
  ) throws {
    let value = try parse(text)
    #expect(value.integer == integer && value.wholeNumber == whole)
  }

  @Test(arguments: [
    ("1.0", "1", true), ("1e2", "100", true), ("1", "2", false), ("\"a\"", #""\u0061""#, true),
    ("\"\u{E9}\"", "\"e\u{301}\"", false), ("[1,[]]", "[1.0, [] ]", true), ("[1]", "[1,2]", false),
    ("[]", "{}", false),
    (#"{"a":1,"b":2}"#, #"{"b":2,"a":1}"#, false), (#"{"a":1}"#, #"{"\u0061":1.0}"#, true),
    ("true", "false", false),
    ("null", "false", false), ("null", "null", true),
    (#"{"\u00e9":1}"#, "{\"e\u{301}\":1}", false), ("9007199254740993", "9007199254740992", false),
  ]) func equalityComparesNumbersByValueAndStringsByCodePoints(
    _ left: String, _ right: String, _ areEqual: Bool
  )
    throws
  {
    #expect((try parse(left) == parse(right)) == areEqual)
  }

  @Test func memberLookupDecodesNames() throws {
    let value = try parse(#"{"a":{"x":[1,{"y":2}]},"\u0062\n":3,"":4,"é":5}"#)
    #expect(value["a"]?["x"]?.elements?[1]["y"]?.integer == 2)
    #expect(value["b\n"]?.integer == 3 && value[""]?.integer == 4 && value["é"]?.integer == 5)
    #expect(value["e\u{301}"] == nil && value["x"] == nil && value["a"]?["a"] == nil)
    #expect(value.members?.map(\.name) == ["a", "b\n", "", "é"])
  }

  /// Small objects are checked pairwise, large ones and those with escape sequences with a hash table.
  @Test(arguments: [1, 2, 11, 12, 13, 100], [#"k0"#, #"\u006b0"#])
  func duplicateNameIsRefusedAtItsOffset(_ count: Int, _ again: String) throws {
    let members = (0..<count).map { #""k\#($0)":{"k0":0}"# }.joined(separator: ",")
    #expect(throws: Never.self) { try parse("{\(members)}") }
    let error = #expect(throws: JSONSyntaxError.self) { try parse(#"{\#(members),"\#(again)":1,"z":2}"#) }
    #expect(
      error?.reason == "duplicate member 'k0'" && error?.offset == members.utf8.count + 4 + again.utf8.count)
  }

  /// Names are compared after the object's closing brace.
  @Test(arguments: [
    (#"{"a":1,"a":1e999}"#, "number out of range"), (#"{"a":1,"a":x}"#, "unexpected character"),
    (#"{"a":1,"a":{"b":1,"b":2}}"#, "duplicate member 'b'"), (#"{"a":1,"a":2"#, "expected ',' or '}'"),
  ]) func syntaxErrorIsReportedBeforeDuplicateName(_ text: String, _ reason: String) {
    let error = #expect(throws: JSONSyntaxError.self) { try parse(text) }
    #expect(error?.reason == reason)
  }

  @Test func constructedValueMayExceedDepthLimit() throws {
    var value = JSONValue.integer(1)
    for _ in 0..<100 { value = .array([value]) }
    for _ in 0..<100 { value = try #require(value.elements?.first) }
    #expect(value == .integer(1))
  }

  @Test func parsingARangeReadsThatRangeOnly() throws {
    let bytes = Array(#"{}x["\u00e9",12,{"a":null}]y"#.utf8)
    var parser = JSONParser()
    let value = try parser.parse(bytes, in: 3..<bytes.count - 1)
    #expect(value.elements?.map(\.kind) == ["a string", "a number", "an object"])
    #expect(value.elements?[0].string == "é" && value.elements?[1].integer == 12)
    #expect(value.elements?[2]["a"] == .null)
  }
}

import Testing

@testable import JSON

@Suite struct ObjectReaderTests {
  enum Colour: String, CaseIterable { case red, green }

  private let violations = Violations()

  private func reader(_ text: String, at pointer: String = "") throws -> ObjectReader {
    ObjectReader(try JSONParser.parse(Array(text.utf8)), at: pointer, violations)
  }

  @Test func `members are read by type`() throws {
    var reader = try reader(
      #"{"s":"x","b":true,"n":1.5,"i":3,"c":"green","l":["a","b"],"o":{"k":"v"},"w":2}"#)
    #expect(reader.string("s") == "x")
    #expect(reader.bool("b") == true)
    #expect(reader.number("n", in: 0...2) == 1.5)
    #expect(reader.number("w", in: 0...2) == 2)
    #expect(reader.integer("i", in: 1...3) == 3)
    #expect(reader.choice("c", of: Colour.self) == .green)
    #expect(reader.strings("l") == ["a", "b"])
    let found = reader.object("o")
    var inner = try #require(found)
    #expect(inner.string("k") == "v")
    inner.finish()
    reader.finish()
    #expect(violations.all.isEmpty)
  }

  @Test(arguments: [("3.0", 3), ("1e2", 100), ("1.5", nil), ("1e99", nil)] as [(String, Int?)])
  func `whole number is an integer in any notation`(_ text: String, _ expected: Int?) throws {
    var reader = try reader(#"{"i":\#(text)}"#)
    #expect(reader.integer("i", in: 0...1000) == expected)
    #expect(violations.all.isEmpty == (expected != nil))
  }

  private static let nulls = #"{"s":null,"b":null,"n":null,"i":null,"c":null,"l":null,"o":null}"#

  @Test(arguments: [("{}", false), (nulls, true), (nulls, false)])
  func `null is absent if it is allowed`(_ text: String, _ isAllowed: Bool) throws {
    var reader = try reader(text)
    if isAllowed { reader.allowNull("s", "b", "n", "i", "c", "l", "o") }
    #expect(reader.string("s") == nil)
    #expect(reader.bool("b") == nil)
    #expect(reader.number("n", in: 0...1) == nil)
    #expect(reader.integer("i", in: 0...1) == nil)
    #expect(reader.choice("c", of: Colour.self) == nil)
    #expect(reader.strings("l") == nil)
    #expect(reader.object("o") == nil)
    _ = reader.string("s")  // A second read reports no second violation.
    reader.finish()
    let refused = text == "{}" || isAllowed ? [] : ["/s", "/b", "/n", "/i", "/c", "/l", "/o"]
    #expect(violations.all.map(\.pointer) == refused)
    #expect(violations.all.allSatisfy { $0.detail == "must not be null; leave it out" })
  }

  @Test func `null with a meaning is accepted`() throws {
    var reader = try reader(#"{"a":null,"b":1}"#)
    #expect(reader.isNull("a") && !reader.isNull("b") && !reader.isNull("c"))
    #expect(!reader.isMissing("a") && !reader.isMissing("b") && reader.isMissing("c"))
    #expect(reader.value("a") == nil)
    reader.finish()
    #expect(violations.isEmpty)
  }

  @Test func `number of violations is limited`() throws {
    let members = (0..<1000).map { #""m\#($0)":\#($0)"# }.joined(separator: ",")
    try reader("{\(members)}").finish()
    #expect(violations.all.count == Violations.maximum && violations.omitted == 900)
    #expect(violations.all.map(\.pointer) == (0..<100).map { "/m\($0)" })
  }

  @Test func `long names are truncated`() throws {
    let name = String(repeating: "é", count: 100_000)
    try reader(#"{"\#(name)":1}"#).finish()
    let pointer = try #require(violations.all.first?.pointer)
    #expect(
      pointer.utf8.count <= BoundedText.maximum + 6 && pointer.hasPrefix("/éé") && pointer.hasSuffix("…"))
    let error = try #require(throws: JSONSyntaxError.self) { try reader(#"{"\#(name)":1,"\#(name)":2}"#) }
    #expect(error.reason.utf8.count < 2 * BoundedText.maximum)
  }

  private static let unknown = "unknown field; remove it, or correct its name"

  @Test func `violations are collected in order`() throws {
    var reader = try reader(
      #"{"s":1,"b":"x","n":"1","i":1.5,"c":"blue","l":["a",1],"m":{},"o":[],"p":2,"q":0,"extra":1}"#,
      at: "/root")
    _ = reader.string("s")
    _ = reader.bool("b")
    _ = reader.number("n", in: 0...1)
    _ = reader.integer("i", in: 0...9)
    _ = reader.choice("c", of: Colour.self)
    _ = reader.strings("l")
    _ = reader.strings("m")
    _ = reader.object("o")
    _ = reader.number("p", in: 0...1.5)
    _ = reader.integer("q", in: 1...9)
    reader.finish()
    let expected = [
      ("s", "must be a string, not a number"), ("b", "must be a boolean, not a string"),
      ("n", "must be a number, not a string"), ("i", "must be an integer, not 1.5"),
      ("c", "must be one of red, green, not 'blue'"), ("l", "must have only strings as elements"),
      ("m", "must be an array of strings, not an object"), ("o", "must be an object, not an array"),
      ("p", "must be between 0 and 1.5, not 2"), ("q", "must be between 1 and 9, not 0"),
      ("extra", Self.unknown),
    ]
    #expect(violations.all == expected.map { FieldViolation(pointer: "/root/" + $0.0, detail: $0.1) })
  }

  @Test(arguments: [(0, nil), (1, 1), (3, 3), (4, nil)] as [(Int, Int?)])
  func `ranges include their ends`(_ value: Int, _ expected: Int?) throws {
    var reader = try reader(#"{"v":\#(value)}"#)
    #expect(reader.integer("v", in: 1...3) == expected)
    #expect(reader.number("v", in: 1...3) == expected.map(Double.init))
    #expect(violations.all.count == (expected == nil ? 2 : 0))
  }

  @Test(arguments: [
    ("plain", "/r/plain"), ("a/b", "/r/a~1b"), ("~", "/r/~0"), ("~1", "/r/~01"), ("/~", "/r/~1~0"),
    ("", "/r/"),
    // A slash is escaped even before a combining mark.
    ("a/\u{338}b", "/r/a~1\u{338}b"),
  ])
  func `pointers are escaped`(_ name: String, _ expected: String) throws {
    let reader = ObjectReader(.object([.init(name: name, value: .null)]), at: "/r", violations)
    #expect(Array(reader.pointer(to: name).utf8) == Array(expected.utf8))
    reader.finish()
    #expect(violations.all.map { Array($0.pointer.utf8) } == [Array(expected.utf8)])
  }

  @Test(arguments: [
    ("null", "null"), ("true", "a boolean"), ("1", "a number"), ("1.5", "a number"), ("\"x\"", "a string"),
    ("[]", "an array"),
  ])
  func `value that is no object is reported once`(_ text: String, _ kind: String) throws {
    var reader = try reader(text)
    #expect(reader.string("s") == nil)
    reader.finish()
    #expect(violations.all == [FieldViolation(pointer: "", detail: "must be an object, not \(kind)")])
  }

  @Test func `nested readers share the violations`() throws {
    var reader = try reader(#"{"a":{"b":{"c":1}}}"#)
    var outer = reader.object("a")
    let inner = outer?.object("b")
    try #require(inner != nil)
    inner?.finish()
    #expect(violations.all == [FieldViolation(pointer: "/a/b/c", detail: Self.unknown)])
  }
}

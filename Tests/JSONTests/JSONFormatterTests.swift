import Testing

@testable import JSON

@Suite struct JSONFormatterTests {
  private func format(_ text: String) -> String {
    String(decoding: JSONFormatter.format(Array(text.utf8)), as: UTF8.self)
  }

  @Test(arguments: [
    ("1", "1"), (#""a,{}[]:\" \\""#, #""a,{}[]:\" \\""#), ("{}", "{}"), (" [ ] ", "[]"),
    (#"{"a":1}"#, "{\n  \"a\": 1\n}"),
    (
      #"[1, [], {"b":[true,null]}]"#,
      "[\n  1,\n  [],\n  {\n    \"b\": [\n      true,\n      null\n    ]\n  }\n]"
    ),
    (#"{"a\\":"x","b":{}}"#, "{\n  \"a\\\\\": \"x\",\n  \"b\": {}\n}"),
  ])
  func `text is formatted`(_ text: String, _ expected: String) {
    #expect(format(text) == expected)
    #expect(format(expected) == expected)
  }

  @Test func `formatted text has the same value`() throws {
    var random = RandomJSON(seed: 0xF0E4)
    for round in 0..<500 {
      let value = random.value()
      try #require(try JSONParser.parse(JSONFormatter.format(value.json)) == value, "round \(round)")
    }
  }
}

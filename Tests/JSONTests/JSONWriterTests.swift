import Testing

@testable import JSON

@Suite struct JSONWriterTests {
  private func text(_ body: (inout JSONWriter) -> Void) -> String {
    var writer = JSONWriter()
    body(&writer)
    return String(decoding: writer.bytes, as: UTF8.self)
  }

  @Test(arguments: [
    ("", #""""#), ("plain", #""plain""#), ("a\"b\\c", #""a\"b\\c""#), ("/", #""/""#),
    ("\n\r\t", #""\n\r\t""#), ("\u{0}\u{8}\u{C}\u{1F}", #""\u0000\u0008\u000c\u001f""#),
    ("\u{7F}é€😀\u{2028}", "\"\u{7F}é€😀\u{2028}\""), ("\"", #""\"""#), ("\"\"x", #""\"\"x""#),
  ])
  func `strings are escaped`(_ value: String, _ expected: String) {
    #expect(text { $0.value(value) } == expected)
    #expect(
      text {
        $0.object {
          $0.key(value); $0.null()
        }
      } == "{\(expected):null}")
  }

  @Test(arguments: [
    (Int64(0), "0"), (7, "7"), (-1, "-1"), (10, "10"), (.max, "9223372036854775807"),
    (.min, "-9223372036854775808"),
  ])
  func `integers are written`(_ value: Int64, _ expected: String) {
    #expect(text { $0.value(value) } == expected)
  }

  @Test(arguments: [
    (0.0, "0"), (1.0, "1"), (-3.0, "-3"), (0.5, "0.5"), (-0.25, "-0.25"), (0.1, "0.1"),
    (.infinity, "null"), (-.infinity, "null"), (.nan, "null"), (9_007_199_254_740_991, "9007199254740991"),
  ])
  func `doubles are written, infinities as null`(_ value: Double, _ expected: String) {
    #expect(text { $0.value(value) } == expected)
  }

  @Test(arguments: [
    9_007_199_254_740_992, 1e300, -1e300, .leastNonzeroMagnitude, .greatestFiniteMagnitude,
    .leastNormalMagnitude, 0.1 + 0.2, 1e16,
    123_456_789.012_345_67,
  ])
  func `doubles survive a round trip`(_ value: Double) throws {
    var writer = JSONWriter()
    writer.value(value)
    #expect(try JSONParser.parse(writer.bytes).double?.bitPattern == value.bitPattern)
  }

  @Test func `commas are placed at every level`() {
    let written = text { writer in
      writer.array { writer in
        writer.element()
        writer.object { _ in }
        writer.element()
        writer.object { writer in
          writer.objectField("a") { writer in
            writer.field("b", 1)
            writer.field("c", "x")
          }
          writer.arrayField("d", [1, 2] as [Int64]) { $0.value($1) }
          writer.arrayField("e", [Int64]()) { $0.value($1) }
          writer.nullField("f")
          writer.key("g")
          writer.array { _ in }
          writer.field("h", true)
        }
        writer.element()
        writer.value(3 as Int64)
      }
    }
    #expect(written == #"[{},{"a":{"b":1,"c":"x"},"d":[1,2],"e":[],"f":null,"g":[],"h":true},3]"#)
  }

  @Test func `absent fields are written as null`() {
    let written = text { writer in
      writer.object { writer in
        writer.field("a", String?.none)
        writer.field("b", String?.some("x"))
        writer.field("c", JSONValue?.none)
        writer.field("d", JSONValue?.some(.array([.null])))
        writer.field("e", 0.25)
      }
    }
    #expect(written == #"{"a":null,"b":"x","c":null,"d":[null],"e":0.25}"#)
  }

  @Test func `raw JSON counts as one value`() {
    let written = text { writer in
      writer.array { writer in
        for json in ["{\"a\":1}", "2"] {
          writer.element()
          writer.raw(Array(json.utf8))
        }
      }
    }
    #expect(written == #"[{"a":1},2]"#)
  }
}

import TestSupport
import Testing

@testable import JSON

@Suite(.serialized, .blocking) struct JSONScalingTests {
  private static func list(_ count: Int, _ open: String, _ close: String, _ item: (Int) -> String) -> [UInt8]
  {
    Array((open + (0..<count).map(item).joined(separator: ",") + close).utf8)
  }

  static let texts: [(String, @Sendable (Int) -> [UInt8])] = [
    ("members", { list($0, "{", "}") { #""m\#($0)":\#($0)"# } }),
    (
      "members that begin alike",
      { list($0, "{", "}") { #""\#(String(repeating: "x", count: 40))\#($0)":1"# } }
    ),
    ("elements", { list($0, "[", "]") { "\($0)" } }),
    ("objects", { list($0, "[", "]") { _ in "{\"a\":{}}" } }),
    ("text", { Array("\"\(String(repeating: "x", count: $0))\"".utf8) }),
    ("escapes", { Array("\"\(String(repeating: "\\u00e9\\n", count: $0))\"".utf8) }),
    (
      "digits",
      {
        Array(String(repeating: "9", count: min($0, 300)).utf8) + [0x2E] + [UInt8](repeating: 0x39, count: $0)
      }
    ),
    ("blanks", { Array((String(repeating: " ", count: $0) + "1").utf8) }),
  ]

  @Test(arguments: texts.indices) func `parsing takes linear time`(_ index: Int) throws {
    let (name, text) = Self.texts[index]
    let ratio = try Scaling.ratio(of: text) {
      let value = try JSONParser.parse($0)
      _ = (value.double, value.string, value.elements, value.members, value["m\n"])
    }
    #expect(ratio < Scaling.limit, "\(name)")
  }

  @Test(arguments: texts.indices) func `writing takes linear time`(_ index: Int) throws {
    let (name, text) = Self.texts[index]
    let ratio = Scaling.ratio(of: { try? JSONParser.parse(text($0)) }) { _ = $0?.json }
    #expect(ratio < Scaling.limit, "\(name)")
  }

  @Test func `reading unknown members takes linear time`() throws {
    let ratio = try Scaling.ratio(of: Self.texts[0].1) { text in
      var reader = ObjectReader(try JSONParser.parse(text), at: "", Violations())
      for name in ["a", "b", "m1", "c"] { _ = reader.value(name) }
      reader.finish()
    }
    #expect(ratio < Scaling.limit)
  }

  @Test func `appending to pointers takes linear time`() {
    let ratio = Scaling.ratio(of: { String(repeating: "a/~é", count: $0) }) {
      _ = JSONPointer.appending($0, to: "/x")
    }
    #expect(ratio < Scaling.limit)
  }
}

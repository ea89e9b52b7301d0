import JSON
import Testing

@testable import HTTPFields

@Suite struct HTTPHeadersTests {
  private let headers = HTTPHeaders([
    .init(name: "Accept", value: "a"), .init(name: "X-One", value: "1"), .init(name: "accept", value: "b"),
  ])

  @Test func `names are compared without case`() {
    #expect(headers["ACCEPT"] == "a, b")
    #expect(headers["x-one"] == "1")
    #expect(headers["x-two"] == nil)
    #expect(headers.contains("aCCept"))
    #expect(!headers.contains("Accep"))
    var rest = headers
    rest.remove("ACCEPT")
    #expect(rest.fields == [.init(name: "X-One", value: "1")])
  }

  @Test(arguments: [
    ("a", "A", true), ("[", "{", false), ("@", "`", false), ("é", "É", false), ("ab", "a", false),
    ("", "", true),
    ("X-Y", "x-y", true), ("X-Y", "x_y", false),
  ])
  func `only ASCII letters have case`(_ left: String, _ right: String, _ expected: Bool) {
    #expect(HTTPHeaders.equal(left, right) == expected)
  }

  @Test func `defaults do not replace existing fields`() {
    let merged = headers.merging(
      defaults: HTTPHeaders([.init(name: "ACCEPT", value: "z"), .init(name: "X-Two", value: "2")]))
    #expect(merged.fields == headers.fields + [.init(name: "X-Two", value: "2")])
  }

  @Test func `JSON joins repeated fields`() throws {
    #expect(String(decoding: headers.json, as: UTF8.self) == #"{"Accept":"a, b","X-One":"1"}"#)
    let read = HTTPHeaders(json: try JSONParser.parse(headers.json))
    #expect(read["accept"] == "a, b")
    #expect(read.fields.count == 2)
    #expect(HTTPHeaders(json: nil).isEmpty)
    #expect(HTTPHeaders(json: .string("x")).isEmpty)
  }

  /// More names than are compared pairwise.
  @Test func `many fields are joined in order`() {
    let names = (0..<30).map { "X-\($0)" }
    let fields = ["a", "", "c"].flatMap { value in
      names.enumerated().map { index, name in
        HTTPHeaders.Field(name: index < 20 || value.isEmpty ? name.lowercased() : name, value: value)
      }
    }
    let once = [HTTPHeaders.Field(name: "Y-Once", value: "1"), .init(name: "Etag", value: "2")]
    let joined = HTTPHeaders(fields + once + [.init(name: "ETag", value: "3")]).joined
    let expected = names.enumerated().map { index, name in
      HTTPHeaders.Field(name: index < 20 ? name.lowercased() : name, value: "a, , c")
    }
    #expect(joined.fields == expected + once)
  }

  @Test(arguments: [
    ("Age", true), ("aGE", true), ("User-Agent", true), ("user-agent", true), ("Agf", false), ("", false),
    ("User_Agent", false), ("Agé", false), (String(repeating: "a", count: 1000), false),
  ])
  func `known names are found without case`(_ name: String, _ expected: Bool) {
    #expect(CaselessNames(["Age", "ETag", "User-Agent"]).contains(name) == expected)
    #expect(!CaselessNames([]).contains(name))
  }

  @Test(arguments: [
    ("X-Custom", true), ("!#$%&'*+-.^_`|~0aZ", true), ("", false), ("a b", false), ("a:", false),
    ("a\n", false),
    ("a/b", false), ("é", false), ("a\0", false), ("(", false), ("\"", false),
  ])
  func `names are tokens`(_ name: String, _ expected: Bool) {
    #expect(HTTPHeaders.isValid(name: name) == expected)
  }

  @Test(arguments: [
    ("", true), ("a b\tc", true), ("é😀", true), ("a\rb", false), ("a\nb", false), ("a\r\nb", false),
    ("a\0", false),
    ("\u{7F}", false), ("\u{1F}", false), ("~", true),
  ])
  func `values have no control characters`(_ value: String, _ expected: Bool) {
    #expect(HTTPHeaders.isValid(value: value) == expected)
  }

  private func violations(_ json: String) throws -> [String] {
    let violations = Violations()
    _ = HTTPHeaders(validating: try JSONParser.parse(Array(json.utf8)), at: "/h", violations)
    return violations.all.map(\.pointer)
  }

  @Test(
    arguments: [
      (#"{"X":"1","y":""}"#, []), ("[]", ["/h"]), ("\"x\"", ["/h"]), (#"{"X":1}"#, ["/h/X"]),
      (#"{"X":null}"#, ["/h/X"]), (#"{"X":"a\nb"}"#, ["/h/X"]), (#"{"":"1"}"#, ["/h/"]),
      (#"{"a b":"1"}"#, ["/h/a b"]),
      (#"{"host":"x"}"#, ["/h/host"]), (#"{"Content-Length":"1"}"#, ["/h/Content-Length"]),
      (#"{"TRANSFER-ENCODING":"x"}"#, ["/h/TRANSFER-ENCODING"]),
      (#"{"Connection":"x","TE":"x"}"#, ["/h/Connection", "/h/TE"]),
      (#"{"Upgrade":"x","trailer":"x"}"#, ["/h/Upgrade", "/h/trailer"]), (#"{"a/b":"1"}"#, ["/h/a~1b"]),
      (#"{"~a":1}"#, ["/h/~0a"]),
    ] as [(String, [String])])
  func `violation names the field`(_ json: String, _ expected: [String]) throws {
    #expect(try violations(json) == expected)
  }
}

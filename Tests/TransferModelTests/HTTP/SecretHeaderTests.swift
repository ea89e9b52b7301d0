import JSON
import Testing

@testable import TransferModel

@Suite struct SecretHeaderTests {
  private func headers(_ pairs: KeyValuePairs<String, String>) -> HTTPHeaders {
    HTTPHeaders(pairs.map { HTTPHeaders.Field(name: $0.key, value: $0.value) })
  }

  @Test(arguments: [
    ("Authorization", true), ("PROXY-authorization", true), ("cookie", true), ("x-api-key", true),
    ("X-Amz-Security-Token", true), ("Set-Cookie", false), ("X-Custom", false), ("Accept", false),
    ("", false),
  ])
  func someAreKnown(_ name: String, _ isSecret: Bool) {
    #expect(HTTPHeaders.isSecret(name: name) == isSecret)
    #expect(HTTPHeaders.isSecret(name: name, and: ["x-custom"]) == (isSecret || name == "X-Custom"))
  }

  @Test func theirValuesAreNotShown() {
    let fields = headers(["Cookie": "a", "X": "b", "COOKIE": "c", "X-Custom": "d"])
    #expect(fields.redacted() == headers(["Cookie": "(redacted)", "X": "b", "X-Custom": "d"]))
    #expect(fields.redacted(and: ["x-CUSTOM"])["X-Custom"] == "(redacted)")
    #expect(headers(["X": "b"]).redacted(and: ["Y"]) == headers(["X": "b"]))
  }

  @Test func marksStandForWhatIsKnown() {
    let known = headers(["Cookie": "a", "X-Custom": "d"])
    var given = headers([
      "X": "(redacted)", "cookie": "(redacted)", "X-API-Key": "(redacted)", "X-Custom": "(redacted)",
    ])
    #expect(given.restoreSecrets(of: known, and: ["X-Custom"]) == ["X-API-Key"])
    #expect(given == headers(["X": "(redacted)", "cookie": "a", "X-Custom": "d"]))
    var plain = headers(["Cookie": "new"])
    #expect(plain.restoreSecrets(of: known).isEmpty && plain["Cookie"] == "new")
  }

  private func read(_ json: String) throws -> (SessionConfiguration, [String]) {
    let violations = Violations()
    var reader = ObjectReader(try JSONParser.parse(Array(json.utf8)), at: "", violations)
    return (SessionConfiguration(validating: &reader), violations.all.map(\.pointer))
  }

  @Test func aSessionNamesOthers() throws {
    let (configuration, faults) = try read(
      #"{"secretHeaderFields":["X-Mine"],"httpAdditionalHeaders":{"x-mine":"s","X":"1"}}"#)
    #expect(faults.isEmpty && configuration.secretHeaderFields == ["X-Mine"])
    let shown = try JSONParser.parse(configuration.json)
    #expect(shown["httpAdditionalHeaders"]?["x-mine"]?.string == "(redacted)")
    #expect(shown["httpAdditionalHeaders"]?["X"]?.string == "1")
    #expect(shown["secretHeaderFields"]?.elements == [.string("X-Mine")])
    var request = TransferRequest(url: "http://a/", headers: configuration.httpAdditionalHeaders)
    request.secretHeaderFields = configuration.secretHeaderFields
    #expect(try JSONParser.parse(request.json)["headers"]?["x-mine"]?.string == "(redacted)")
  }

  @Test(
    arguments: [
      (#"["a b"]"#, ["/secretHeaderFields/0"]), (#"["A",""]"#, ["/secretHeaderFields/1"]),
      (#""A""#, ["/secretHeaderFields"]), ("[1]", ["/secretHeaderFields"]),
      (#"["\#(String(repeating: "x", count: 257))"]"#, ["/secretHeaderFields/0"]),
      ("[\(Array(repeating: #""A""#, count: 65).joined(separator: ","))]", ["/secretHeaderFields"]),
      ("[]", []), (#"["\#(String(repeating: "x", count: 256))"]"#, []),
    ] as [(String, [String])])
  func namesAreChecked(_ names: String, _ faults: [String]) throws {
    #expect(try read(#"{"secretHeaderFields":\#(names)}"#).1 == faults)
  }
}

import JSON
import Testing
import TransferModel

@Suite struct SecretHeaderFieldsTests {
  private func read(_ json: String) throws -> (SessionConfiguration, [String]) {
    let violations = Violations()
    var reader = ObjectReader(try JSONParser.parse(Array(json.utf8)), at: "", violations)
    return (SessionConfiguration(validating: &reader), violations.all.map(\.pointer))
  }

  @Test func `values of additional secret fields are redacted`() throws {
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
  func `invalid names of secret fields are reported`(_ names: String, _ faults: [String]) throws {
    #expect(try read(#"{"secretHeaderFields":\#(names)}"#).1 == faults)
  }
}

import HTTPFields
import Testing

@Suite struct SecretHeaderTests {
  private func headers(_ pairs: KeyValuePairs<String, String>) -> HTTPHeaders {
    HTTPHeaders(pairs.map { HTTPHeaders.Field(name: $0.key, value: $0.value) })
  }

  @Test(arguments: [
    ("Authorization", true), ("PROXY-authorization", true), ("cookie", true), ("x-api-key", true),
    ("X-Amz-Security-Token", true), ("Set-Cookie", false), ("X-Custom", false), ("Accept", false),
    ("", false),
  ])
  func `known and additional names are secret`(_ name: String, _ isSecret: Bool) {
    #expect(HTTPHeaders.isSecret(name: name) == isSecret)
    #expect(HTTPHeaders.isSecret(name: name, and: ["x-custom"]) == (isSecret || name == "X-Custom"))
  }

  @Test func `secret values are redacted`() {
    let fields = headers(["Cookie": "a", "X": "b", "COOKIE": "c", "X-Custom": "d"])
    #expect(fields.redacted() == headers(["Cookie": "(redacted)", "X": "b", "X-Custom": "d"]))
    #expect(fields.redacted(and: ["x-CUSTOM"])["X-Custom"] == "(redacted)")
    #expect(headers(["X": "b"]).redacted(and: ["Y"]) == headers(["X": "b"]))
  }

  @Test func `redacted values are restored from known ones`() {
    let known = headers(["Cookie": "a", "X-Custom": "d"])
    var given = headers([
      "X": "(redacted)", "cookie": "(redacted)", "X-API-Key": "(redacted)", "X-Custom": "(redacted)",
    ])
    #expect(given.restoreSecrets(of: known, and: ["X-Custom"]) == ["X-API-Key"])
    #expect(given == headers(["X": "(redacted)", "cookie": "a", "X-Custom": "d"]))
    var plain = headers(["Cookie": "new"])
    #expect(plain.restoreSecrets(of: known).isEmpty && plain["Cookie"] == "new")
  }
}

import TestSupport
import Testing

@testable import TransferEngine

/// `WWW-Authenticate` as deployed servers write it (RFC 9110 §11.6.1).
@Suite struct HTTPChallengeTests {
  @Test(arguments: [
    (#"Basic realm="WallyWorld""#, [HTTPChallenge(scheme: "basic", parameters: ["realm": "WallyWorld"])]),
    ("Basic realm=plain", [HTTPChallenge(scheme: "basic", parameters: ["realm": "plain"])]),
    (
      #"BASIC REALM="x", charset="UTF-8""#,
      [HTTPChallenge(scheme: "basic", parameters: ["realm": "x", "charset": "UTF-8"])]
    ),
    ("Negotiate", [HTTPChallenge(scheme: "negotiate")]),
    ("NTLM TlRMTVNTUAAC==", [HTTPChallenge(scheme: "ntlm", token68: "TlRMTVNTUAAC==")]),
    ("Negotiate oYG2MIGz/+", [HTTPChallenge(scheme: "negotiate", token68: "oYG2MIGz/+")]),
    ("Negotiate, NTLM", [HTTPChallenge(scheme: "negotiate"), HTTPChallenge(scheme: "ntlm")]),
    (
      // RFC 9110 §11.6.1
      #"Basic realm="simple", Newauth realm="apps", type=1, title="Login to \"apps\"""#,
      [
        HTTPChallenge(scheme: "basic", parameters: ["realm": "simple"]),
        HTTPChallenge(
          scheme: "newauth", parameters: ["realm": "apps", "type": "1", "title": #"Login to "apps""#]),
      ]
    ),
    (
      #"Digest realm="a, b", qop="auth,auth-int", nonce = "n", stale=TRUE , NTLM"#,
      [
        HTTPChallenge(
          scheme: "digest",
          parameters: ["realm": "a, b", "qop": "auth,auth-int", "nonce": "n", "stale": "TRUE"]),
        HTTPChallenge(scheme: "ntlm"),
      ]
    ),
    (",, Basic realm=\"\" ,,", [HTTPChallenge(scheme: "basic", parameters: ["realm": ""])]),
    ("", []), (" , ", []), ("\"", []), ("=x", []),
    ("Basic realm=\"never ends", [HTTPChallenge(scheme: "basic", parameters: ["realm": "never ends"])]),
  ])
  func `challenges of a field are parsed`(_ field: String, _ expected: [HTTPChallenge]) {
    #expect(HTTPChallenge.parse([field]) == expected)
  }

  @Test func `fields are read in order`() {
    let challenges = HTTPChallenge.parse(["Negotiate", #"Digest realm="x", nonce="1""#, #"Basic realm="x""#])
    #expect(challenges.map(\.scheme) == ["negotiate", "digest", "basic"])
  }

  @Test func `first of two parameters counts`() {
    #expect(HTTPChallenge.parse([#"Basic realm="a", realm="b""#]).first?.realm == "a")
  }

  @Test func `any field is read to its end`() {
    var random = SplitMix64(seed: 7)
    let pieces = [
      "Basic", "Digest ", "realm", "=", "\"", "\\", ",", " ", "\t", "x", "/", "==", "é", "nonce=\"", "NTLM",
    ]
    for _ in 0..<20_000 {
      let text = (0..<Int.random(in: 0...12, using: &random))
        .map { _ in pieces.randomElement(using: &random) ?? "" }.joined()
      #expect(HTTPChallenge.parse([text]).allSatisfy { !$0.scheme.isEmpty })
    }
  }
}

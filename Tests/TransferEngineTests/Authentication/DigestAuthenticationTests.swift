import Testing
import TransferModel

@testable import TransferEngine

@Suite struct DigestAuthenticationTests {
  private func digest(_ field: String) throws -> DigestAuthentication {
    try #require(HTTPChallenge.parse([field]).first.flatMap { DigestAuthentication($0) })
  }

  private func parameters(_ value: String) -> HTTPChallenge.Parameters {
    HTTPChallenge.parse([value]).first?.parameters ?? [:]
  }

  /// RFC 7616 §3.9.1.
  @Test(arguments: [
    ("MD5", "8ca523f5e9506fed4657c9700eebdbec"),
    ("SHA-256", "753927fa0e85d155564e2e272a28d1802ca10daf4496794697cf8db5856cb6c1"),
  ])
  func `examples of RFC 7616 match`(_ algorithm: String, _ response: String) throws {
    var digest = try digest(
      #"Digest realm="http-auth@example.org", qop="auth, auth-int", algorithm=\#(algorithm), "#
        + #"nonce="7ypf/xlj9XXwfDPEoM4URrv/xwf94BcCAzFZH4GiTo0v", opaque="FQhe/qaU925kfnzjCev0ciny7QMkPqMAFRtzCUYo5tdS""#
    )
    let value = digest.authorization(
      user: "Mufasa", password: "Circle of Life", method: "GET", target: "/dir/index.html",
      clientNonce: "f2/wE4q74E6zIJEtWaHKaf5wv/H5QzzpXusqGemxURZJ")
    let sent = parameters(value)
    #expect(sent["response"] == response)
    #expect(sent["username"] == "Mufasa" && sent["realm"] == "http-auth@example.org")
    #expect(sent["uri"] == "/dir/index.html" && sent["algorithm"] == algorithm && sent["nc"] == "00000001")
    #expect(sent["qop"] == "auth" && sent["opaque"] == "FQhe/qaU925kfnzjCev0ciny7QMkPqMAFRtzCUYo5tdS")
    #expect(value.contains("qop=auth,") && value.contains("nc=00000001,"), "qop and nc are not quoted")
  }

  /// RFC 7616 §3.9.2, with the values of its erratum 4897: the text's values are not for SHA-512/256.
  @Test func `SHA 512 256 example of RFC 7616 matches`() throws {
    var digest = try digest(
      #"Digest realm="api@example.org", qop="auth", algorithm=SHA-512-256, "#
        + #"nonce="5TsQWLVdgBdmrQ0XsxbDODV+57QdFR34I9HAbC/RVvkK", "#
        + #"opaque="HRPCssKJSGjCrkzDg8OhwpzCiGPChXYjwrI2QmXDnsOS", charset=UTF-8, userhash=true"#)
    let value = digest.authorization(
      user: "Jäsøn Doe", password: "Secret, or not?", method: "GET", target: "/doe.json",
      clientNonce: "NTg6RKcb9boFIAS3KrFK9BGeh+iDa/sm6jUMp2wds69v")
    let sent = parameters(value)
    #expect(sent["response"] == "3798d4131c277846293534c3edc11bd8a5e4cdcbff78b05db9d95eeb1cec68a5")
    #expect(sent["username"] == "793263caabb707a56211940d90411ea4a575adeccb7e360aeb624ed06ece9b0b")
    #expect(sent["algorithm"] == "SHA-512-256" && sent["userhash"] == "true" && sent["qop"] == "auth")
  }

  /// FIPS 180-4's example of one block, and the empty message.
  @Test(arguments: [
    ("abc", "53048e2681941ef99b2e29b76b4c7dabe4c2d0c634fc6d46e0e2f13107e7af23"),
    ("", "c672b8d1ef56ed28ab87c3622c5114069bdd3ad7b8f9737498d0c01ecef0967a"),
  ]) func `truncated SHA 512 digests match the standard`(_ text: String, _ digest: String) {
    #expect(DigestAuthentication.Algorithm.sha512Truncated.hash(text) == digest)
  }

  /// The responses were computed with another implementation (RFC 7616 §3.4.3).
  @Test(arguments: [
    ("MD5", "hello", "96d9d8253d426f4928a00e44443a3279"), ("MD5", "", "6fe89387290fa95f2a2c358e2d1292fe"),
    ("SHA-256", "hello", "b76b06e1cc8fd721f0af720a14fc08a943fd6465520bc82ddcef7c41834117b0"),
    ("SHA-256-sess", "hello", "593d7bbbfc3f4b2d2f156fa130e03685b5419062863d83a0eb7b370d2c98220b"),
  ]) func `auth int covers the body`(_ algorithm: String, _ body: String, _ response: String) throws {
    var digest = try digest(#"Digest realm="r", nonce="n", qop="auth-int", algorithm=\#(algorithm)"#)
    let value = digest.authorization(
      user: "u", password: "p", method: "PUT", target: "/x", bodyDigest: digest.algorithm.hash(body),
      clientNonce: "c")
    #expect(parameters(value)["response"] == response)
    #expect(value.contains("qop=auth-int,"))
  }

  /// RFC 2617 §3.5.
  @Test func `example of RFC 2617 matches`() throws {
    var digest = try digest(
      #"Digest realm="testrealm@host.com", qop="auth,auth-int", nonce="dcd98b7102dd2f0e8b11d0f600bfb0c093""#)
    let value = digest.authorization(
      user: "Mufasa", password: "Circle Of Life", method: "GET", target: "/dir/index.html",
      clientNonce: "0a4f113b")
    #expect(parameters(value)["response"] == "6629fae49393a05397450978507c4ef1")
  }

  /// RFC 2069 §2.4, with the response of its erratum.
  @Test func `challenge without quality uses the form of RFC 2069`() throws {
    var digest = try digest(
      #"Digest realm="testrealm@host.com", nonce="dcd98b7102dd2f0e8b11d0f600bfb0c093", opaque="5ccc069c403ebaf9f0171e9517f40e41""#
    )
    let value = digest.authorization(
      user: "Mufasa", password: "CircleOfLife", method: "GET", target: "/dir/index.html", clientNonce: "x")
    #expect(parameters(value)["response"] == "1949323746fe6a43ef61f9606e7febea")
    #expect(parameters(value)["qop"] == nil && parameters(value)["cnonce"] == nil)
  }

  @Test func `session key depends on both nonces`() throws {
    var one = try digest(#"Digest realm="r", nonce="n", qop=auth, algorithm=MD5-sess"#)
    var two = one
    func response(_ digest: inout DigestAuthentication, _ nonce: String) -> String? {
      parameters(
        digest.authorization(user: "u", password: "p", method: "GET", target: "/", clientNonce: nonce))[
          "response"]
    }
    // H(H(H(u:r:p):n:c):n:00000001:c:auth:H(GET:/)), computed with another implementation.
    #expect(response(&one, "c") == "6e4aac8b22e97762f88ccd0d5ccf5b1d")
    #expect(response(&one, "d") != response(&two, "e"))
  }

  @Test func `uses of a nonce are counted, and a new nonce restarts the count`() throws {
    var digest = try digest(#"Digest realm="r", nonce="n", qop=auth"#)
    func count() -> String? {
      parameters(
        digest.authorization(user: "u", password: "p", method: "GET", target: "/", clientNonce: "c"))["nc"]
    }
    #expect([count(), count(), count()] == ["00000001", "00000002", "00000003"])
    digest.takeUp(info: #"qop=auth, nextnonce="m", rspauth="x""#)
    #expect(digest.nonce == "m" && count() == "00000001")
    digest.takeUp(info: #"nextnonce="m""#)
    #expect(count() == "00000002", "an unchanged nonce keeps its count")
  }

  @Test func `hashed user is not sent in clear text`() throws {
    var digest = try digest(
      #"Digest realm="api@example.org", nonce="n", qop=auth, algorithm=SHA-256, userhash=true"#)
    let value = digest.authorization(
      user: "alice", password: "p", method: "GET", target: "/", clientNonce: "c")
    #expect(!value.contains("alice") && parameters(value)["userhash"] == "true")
    #expect(parameters(value)["username"]?.count == 64)
  }

  @Test func `quotes are escaped`() throws {
    var digest = try digest(#"Digest realm="a \"b\" \\", nonce="n", qop=auth"#)
    let value = digest.authorization(
      user: #"x"y\"#, password: "p", method: "GET", target: "/", clientNonce: "c")
    #expect(parameters(value)["realm"] == #"a "b" \"# && parameters(value)["username"] == #"x"y\"#)
  }

  @Test(arguments: [
    "Basic realm=x", "Digest realm=x", "Digest nonce=x, algorithm=SHA-512-224, qop=auth",
    "Digest nonce=x, qop=\"auth-conf\"", "Digest nonce=x, algorithm=token",
    "Digest nonce=x, algorithm=MD5-sess", "Digest nonce=x, algorithm=SHA-512-256-sess",
  ])
  func `unsupported challenge is not answered`(_ field: String) {
    #expect(HTTPChallenge.parse([field]).first.flatMap { DigestAuthentication($0) } == nil)
  }
}

import JSON
import Limits
import TestSupport
import Testing

/// Limits of values that clients choose. The largest value is accepted, and a larger value gets a 422 that names the
/// field.
@Suite(.serialized, .blocking, .sharing) struct LimitRouteTests {
  private let place: InProcessAPI
  private let session: String

  init() throws {
    place = try .ofSuite()
    session = try place.session()
  }

  /// Returns a text of `count` bytes with this ending.
  private static func text(_ count: Int, _ end: String = "", of letter: String = "x") -> String {
    String(repeating: letter, count: count - end.utf8.count) + end
  }

  private struct Field: Sendable, CustomTestStringConvertible {
    let name: String
    let limit: Limit
    let method: String
    /// The path, where `{session}` stands for the id of a session.
    let path: String
    let pointer: String
    /// Returns the body for a value with this number of bytes or elements.
    let body: @Sendable (Int) -> String
    var testDescription: String { name }

    init(
      _ name: String, _ limit: Limit, _ method: String, _ path: String, _ pointer: String,
      _ body: @escaping @Sendable (Int) -> String
    ) {
      (self.name, self.limit, self.method, self.path) = (name, limit, method, path)
      (self.pointer, self.body) = (pointer, body)
    }
  }

  private static func task(_ request: String) -> String {
    #"{"kind":"data","request":{"url":"http://a.test/"\#(request)}}"#
  }
  private static func session(_ configuration: String) -> String { #"{"configuration":{\#(configuration)}}"# }
  private static func credential(space: String = "", _ members: String) -> String {
    #"{"protectionSpace":{"host":"a.test"\#(space)},"credential":{\#(members)}}"#
  }
  private static func list(_ count: Int, _ item: (Int) -> String) -> String {
    (0..<count).map(item).joined(separator: ",")
  }

  private static let fields: [Field] = [
    Field("method", Limits.methodBytes, "POST", "/v1/tasks", "/request/method") { count in
      task(#","method":"\#(text(count, of: "X"))""#)
    },
    Field("URL", Limits.urlBytes, "POST", "/v1/tasks", "/request/url") { count in
      #"{"kind":"data","request":{"url":"http://a.test/\#(text(count - 14))"}}"#
    },
    Field("description", Limits.descriptionBytes, "POST", "/v1/tasks", "/description") { count in
      #"{"kind":"data","description":"\#(text(count))","request":{"url":"http://a.test/"}}"#
    },
    Field("completion", Limits.urlBytes, "POST", "/v1/tasks", "/completion/webhook/url") { count in
      #"{"kind":"data","completion":{"webhook":{"url":"http://127.0.0.1/\#(text(count - 17))"}},"request":{"url":"http://a.test/"}}"#
    },
    Field("session's webhook", Limits.urlBytes, "POST", "/v1/sessions", "/delegate/webhook/url") { count in
      #"{"delegate":{"webhook":{"url":"http://127.0.0.1/\#(text(count - 17))"}}}"#
    },
    Field("user", Limits.userBytes, "PUT", "/v1/sessions/{session}/credentials", "/credential/user") {
      count in
      credential(#""user":"\#(text(count))","password":"p""#)
    },
    Field(
      "password", Limits.passwordBytes, "PUT", "/v1/sessions/{session}/credentials", "/credential/password"
    ) {
      count in credential(#""user":"u","password":"\#(text(count))""#)
    },
    Field("host", Limits.hostBytes, "PUT", "/v1/sessions/{session}/credentials", "/protectionSpace/host") {
      count in
      #"{"protectionSpace":{"host":"\#(text(count, ".test"))"},"credential":{"user":"u","password":"p"}}"#
    },
    Field("realm", Limits.realmBytes, "PUT", "/v1/sessions/{session}/credentials", "/protectionSpace/realm") {
      count in credential(space: #","realm":"\#(text(count))""#, #""user":"u","password":"p""#)
    },
    Field("cookie path", Limits.cookieAttributeBytes, "PUT", "/v1/sessions/{session}/cookies", "/path") {
      count in
      #"{"name":"a","value":"1","domain":"a.test","path":"/\#(text(count - 1))"}"#
    },
    Field("reachability", Limits.urlBytes, "POST", "/v1/reachability", "/url") { count in
      #"{"url":"http://127.0.0.1:1/\#(text(count - 19))"}"#
    },
    Field("exceptions", Limits.proxyExceptions, "POST", "/v1/sessions", "/configuration/proxies/noProxy") {
      count in
      session(#""proxies":{"noProxy":[\#(list(count) { #""h\#($0).test""# })]}"#)
    },
    Field("pinned hosts", Limits.pinnedHosts, "POST", "/v1/sessions", "/configuration/tlsPinnedPublicKeys") {
      count in session(#""tlsPinnedPublicKeys":{\#(list(count) { #""h\#($0).test":["\#(pin)"]"# })}"#)
    },
    Field("pins", Limits.pinnedKeys, "POST", "/v1/sessions", "/configuration/tlsPinnedPublicKeys/a.test") {
      count in
      session(#""tlsPinnedPublicKeys":{"a.test":[\#(list(count) { _ in #""\#(pin)""# })]}"#)
    },
    Field("secret names", Limits.secretNames, "POST", "/v1/sessions", "/configuration/secretHeaderFields") {
      count in
      session(#""secretHeaderFields":[\#(list(count) { #""X-\#($0)""# })]"#)
    },
    Field("fields", Limits.fields, "POST", "/v1/tasks", "/request/headers") { count in
      task(#","headers":{\#(list(count) { #""X-\#($0)":"1""# })}"#)
    },
    Field("field", Limits.fieldBytes, "POST", "/v1/tasks", "/request/headers/X") { count in
      task(#","headers":{"X":"\#(text(count - 1))"}"#)
    },
  ]
  private static let pin = "sha256/" + String(repeating: "A", count: 43) + "="

  @Test(arguments: fields) private func `value above its limit is refused`(_ field: Field) throws {
    let path = field.path.replacing("{session}", with: session)
    let most = field.limit.value
    let taken = try place.call(field.method, path, field.body(most))
    #expect((200..<300).contains(taken.status), "\(taken.text.prefix(300))")
    let refused = try place.call(field.method, path, field.body(most + 1))
    #expect(refused.status == 422, "\(refused.status) \(refused.text.prefix(300))")
    #expect(refused.json["type"]?.string?.hasSuffix("limit-exceeded") == true)
    #expect(refused.pointers == [field.pointer])
    #expect(refused.text.contains("\(most)"), "the problem names the limit")
  }

  /// An oversized host or user inside a longer value is a 400 that names the value.
  @Test(arguments: [
    ("/configuration/proxies/http", #""proxies":{"http":"http://\#(text(254, ".test")):80"}"#),
    ("/configuration/proxies/http", #""proxies":{"http":"http://\#(text(1025)):p@proxy.test:80"}"#),
    ("/configuration/proxies/noProxy/0", #""proxies":{"noProxy":["\#(text(254, ".test"))"]}"#),
    (
      "/configuration/tlsPinnedPublicKeys/\(text(254, ".test"))",
      #""tlsPinnedPublicKeys":{"\#(text(254, ".test"))":["\#(pin)"]}"#
    ),
  ])
  func `host or user above its limit is refused`(_ pointer: String, _ configuration: String) throws {
    let reply = try place.call("POST", "/v1/sessions", Self.session(configuration))
    #expect(reply.status == 400 && reply.pointers == [pointer], "\(reply.text.prefix(300))")
  }

  /// Many members within their own limits can exceed the limit of the whole.
  @Test func `size of a configuration is limited`() throws {
    let exceptions = Self.list(5000) { "\"" + Self.text(240, "\($0).test") + "\"" }
    let reply = try place.call(
      "POST", "/v1/sessions", Self.session(#""proxies":{"noProxy":[\#(exceptions)]}"#))
    #expect(reply.status == 422 && reply.pointers == ["/configuration"])
    let named = try place.call(
      "POST", "/v1/configurations",
      #"{"name":"large","configuration":{"proxies":{"noProxy":[\#(exceptions)]}}}"#)
    #expect(named.status == 422 && named.pointers == ["/configuration"])
  }

  /// Certificates are counted before they are parsed.
  @Test func `number of certificates is limited`() throws {
    let block = "-----BEGIN CERTIFICATE-----\\nAAAA\\n-----END CERTIFICATE-----\\n"
    let put = { (certificate: String, key: String) in
      try place.call(
        "PUT", "/v1/sessions/\(session)/credentials",
        #"{"protectionSpace":{"host":"a.test","authenticationMethod":"NSURLAuthenticationMethodClientCertificate"},"#
          + #""credential":{"clientCertificate":"\#(certificate)","privateKey":"\#(key)"}}"#)
    }
    let many = try put(String(repeating: block, count: 17), "k")
    #expect(many.status == 422 && many.pointers == ["/credential/clientCertificate"])
    let large = try put("-----BEGIN CERTIFICATE-----" + Self.text(65_536, of: "A"), "k")
    #expect(large.status == 422 && large.pointers == ["/credential/clientCertificate"])
    let key = try put(block, Self.text(65_537))
    #expect(key.status == 422 && key.pointers == ["/credential/privateKey"])
    // 16 blocks are within the limit, so Ferry parses them; they are not valid certificates.
    #expect(try put(String(repeating: block, count: 16), "k").status == 400)
    let roots = String(repeating: block, count: 1001)
    let reply = try place.call(
      "POST", "/v1/sessions", Self.session(#""tlsAdditionalRootCertificates":"\#(roots)""#))
    #expect(reply.status == 422 && reply.pointers == ["/configuration/tlsAdditionalRootCertificates"])
  }

  /// If a server's certificate names that subject as its issuer, the handshake may try each of these certificates.
  @Test(arguments: [(16, 201), (17, 422)]) func `certificates of equal subject are limited`(
    _ count: Int, _ status: Int
  )
    throws
  {
    let key = place.directory + "/ca.key"
    try OpenSSL.run("ecparam -name prime256v1 -genkey -noout -out \(key)")
    let roots = try (1...count).map { number in
      String(
        decoding: try OpenSSL.run("req -x509 -key \(key) -subj /CN=same -days 9 -set_serial \(number)"),
        as: UTF8.self)
    }.joined()
    let text = JSONValue.string(roots).text
    let reply = try place.call(
      "POST", "/v1/sessions", Self.session(#""tlsAdditionalRootCertificates":\#(text)"#))
    #expect(reply.status == status)
    guard status == 422 else { return }
    #expect(reply.pointers == ["/configuration/tlsAdditionalRootCertificates"])
  }

  /// One violation that is not an exceeded limit makes the whole reply a 400.
  @Test func `violation other than a limit decides the status`() throws {
    let reply = try place.call(
      "POST", "/v1/tasks",
      #"{"kind":"nonsense","request":{"url":"http://a.test/","method":"\#(Self.text(65))"}}"#)
    #expect(reply.status == 400 && reply.pointers == ["/kind", "/request/method"])
  }
}

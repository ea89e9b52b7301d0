import JSON
import TestSupport
import Testing

/// The cookie settings of sessions and requests, and cookies of secure connections.
@Suite(.serialized, .blocking, .sharing) struct CookiePolicyTests {
  private let ferry: FerryProcess
  private let nginx: NginxServer
  private let origin: CookieOrigin

  init() throws {
    nginx = try NginxServer()
    ferry = try .ofSuite(networks: ["127.0.0.0/8", "::1/128"], trustsAuthority: true)
    origin = CookieOrigin(ferry)
  }

  /// Sends a request whose response sets `cookie`, and returns the `Cookie` field that the request had.
  /// - Parameter rest: further members of the request, after a comma.
  private func ask(
    _ face: NginxServer.Site, set cookie: String? = nil, host: String = "127.0.0.1", in session: String,
    _ rest: String = ""
  ) throws -> String? {
    let headers = cookie.map { #","headers":{"X-Set":"\#($0)"}"# } ?? ""
    let task = try ferry.run(
      nginx.url(face, "/cookie", host: host), kind: "data", session: session, request: headers + rest,
      query: "?include=body")
    try #require(task["response"]?["status"]?.integer == 200, "\(task.text)")
    return task["body"]?["text"]?.string
  }

  // MARK: Secure connections

  /// Foundation on Linux sends `Secure` cookies without TLS.
  @Test func `secure cookies need TLS`() throws {
    let session = try ferry.session()
    _ = try ask(.plain, set: "clear=1; Secure", in: session)
    #expect(try ferry.cookies(of: session) == [], "a plain response cannot set a Secure cookie")
    _ = try ask(.good, set: "s=1; Secure; Path=/", in: session)
    _ = try ask(.good, set: "p=1", in: session)
    #expect(try ask(.good, in: session) == "s=1; p=1")
    #expect(try ask(.plain, in: session) == "p=1")
    _ = try ask(.plain, set: "s=evil; Path=/", in: session)
    _ = try ask(.plain, set: "s=evil; Path=/cookie", in: session)
    #expect(try ask(.good, in: session) == "s=1; p=1", "a plain response cannot overlay a Secure cookie")
    _ = try ask(.plain, set: "s=0; Max-Age=0; Path=/", in: session)
    #expect(try ask(.good, in: session) == "s=1; p=1", "a plain response cannot delete a Secure cookie")
    _ = try ask(.good, set: "s=2; Secure; Path=/", in: session)
    #expect(try ask(.good, in: session) == "s=2; p=1")
  }

  @Test(arguments: [NginxServer.Site.good, .plain]) func `cookie prefixes are enforced`(
    _ face: NginxServer.Site
  ) throws {
    let session = try ferry.session()
    for cookie in [
      "__Host-a=1; Secure; Path=/", "__Host-b=1; Secure; Path=/cookie", "__Host-c=1; Path=/",
      "__Host-d=1; Secure", "__Host-e=1; Secure; Path=/; Domain=a.localhost", "__Secure-f=1; Secure",
      "__Secure-g=1", "__hOsT-h=1", "__SECURE-i=1", "=__Host-j=1", "__Secure-k", "_Host-l=1",
    ] { _ = try ask(face, set: cookie, host: "localhost", in: session) }
    let kept = try ferry.cookies(of: session)
    #expect(kept == (face == .good ? ["__Host-a=1", "__Secure-f=1", "_Host-l=1"] : ["_Host-l=1"]))
  }

  // MARK: The session

  @Test func `session that sends no cookies stores them`() throws {
    let session = try ferry.session(#"{"httpShouldSetCookies":false}"#)
    try origin.set("a=1", in: session)
    #expect(try origin.sent(in: session) == nil)
    #expect(try ferry.cookies(of: session) == ["a=1"])
    #expect(try origin.sent(in: session, request: #","headers":{"Cookie":"own=1"}"#) == "own=1")
  }

  @Test func `session that accepts no cookies sends stored ones`() throws {
    let session = try ferry.session(#"{"httpCookieAcceptPolicy":"never"}"#)
    try origin.set("a=1", in: session)
    #expect(try ferry.cookies(of: session) == [])
    let cookie = #"{"name":"put","value":"1","domain":"127.0.0.1"}"#
    #expect(try ferry.call("PUT", "/v1/sessions/\(session)/cookies", cookie).status == 200)
    try origin.set("put=2", "put=0; Max-Age=0", in: session)
    #expect(try origin.sent(in: session) == "put=1")
  }

  private static let foreign = #","mainDocumentURL":"https://elsewhere.example/""#

  /// With the policy `always`, requests of a foreign document set only cookies without a SameSite restriction (RFC
  /// 6265bis §5.7). With the other policies, they set none.
  @Test(arguments: ["always", "onlyFromMainDocumentDomain", nil]) func `main document decides acceptance`(
    _ policy: String?
  ) throws {
    let session = try ferry.session(policy.map { #"{"httpCookieAcceptPolicy":"\#($0)"}"# } ?? "{}")
    _ = try ask(.good, set: "foreign=1; SameSite=None; Secure", in: session, Self.foreign)
    _ = try ask(.good, set: "plain=1", in: session, Self.foreign)
    _ = try ask(.good, set: "lax=1; SameSite=Lax", in: session, Self.foreign)
    #expect(try ferry.cookies(of: session) == (policy == "always" ? ["foreign=1", "plain=1"] : []))
    _ = try ask(.good, set: "own=1", in: session, #","mainDocumentURL":"\#(nginx.url(.good, "/x"))""#)
    _ = try ask(.good, set: "none=1", in: session)
    let kept = policy == "always" ? ["foreign=1", "plain=1", "own=1", "none=1"] : ["own=1", "none=1"]
    #expect(try ferry.cookies(of: session) == kept)
  }

  @Test func `subdomains belong to the domain of the main document`() throws {
    let session = try ferry.session()
    func document(_ host: String) -> String { #","mainDocumentURL":"http://\#(host)/""# }
    try origin.set("a=1", host: "b.a.localhost", in: session, request: document("www.a.localhost"))
    try origin.set("b=1", host: "b.a.localhost", in: session, request: document("c.localhost"))
    try origin.set("c=1", host: "b.a.localhost", in: session, request: document("localhost"))
    try origin.set("d=1", in: session, request: document("localhost"))
    #expect(try ferry.cookies(of: session) == ["a=1"])
  }

  @Test func `SameSite restricts the requests with a cookie`() throws {
    let session = try ferry.session()
    for cookie in [
      "strict=1; SameSite=Strict", "lax=1; SameSite=Lax", "free=1; SameSite=None; Secure", "silent=1",
      "bad=1; SameSite=None",
    ] { _ = try ask(.good, set: cookie, in: session) }
    let all = "strict=1; lax=1; free=1; silent=1"
    #expect(try ask(.good, in: session) == all)
    #expect(try ask(.good, in: session, #","mainDocumentURL":"\#(nginx.url(.good, "/"))""#) == all)
    #expect(try ask(.good, in: session, Self.foreign) == "free=1; silent=1")
    let insecure = #","mainDocumentURL":"\#(nginx.url(.plain, "/"))""#
    #expect(
      try ask(.good, in: session, insecure) == "free=1; silent=1", "a different scheme is a different site")
    let items = try ferry.call("GET", "/v1/sessions/\(session)/cookies").json["items"]?.elements ?? []
    #expect(items.map { $0["sameSitePolicy"]?.string } == ["strict", "lax", "none", nil])
  }

  // MARK: The request

  /// Foundation on Linux does both in spite of the setting.
  @Test func `request without cookie handling neither sends nor sets`() throws {
    let session = try ferry.session()
    try origin.set("a=1", in: session)
    let without = #","httpShouldHandleCookies":false"#
    #expect(try origin.sent(in: session, request: without) == nil)
    try origin.set("a=2", "b=1", in: session, request: without)
    try origin.set("c=1", on: "/moved", in: session, request: without)
    #expect(origin.fields.suffix(2) == [nil, nil])
    #expect(try origin.sent(in: session) == "a=1")
  }

  @Test func `cookie field of the request overrides the jar`() throws {
    let session = try ferry.session()
    try origin.set("a=1", in: session)
    try origin.set("a=2", on: "/moved", in: session, headers: [#""cookie":"own=1""#])
    #expect(
      origin.fields == [nil, "own=1", "own=1"],
      "the request's own Cookie field is also sent after the redirect")
    #expect(try origin.sent(in: session) == "a=2", "the response's cookie is stored")
    let always = try ferry.session(#"{"httpAdditionalHeaders":{"Cookie":"session=1"}}"#)
    try origin.set("a=1", in: always)
    #expect(try origin.sent(in: always) == "session=1")
    #expect(try origin.sent(in: always, request: #","headers":{"Cookie":"own=1"}"#) == "own=1")
  }

  /// At another host the request's own field is dropped, and the jar's cookies replace it.
  @Test func `cookie field of the request stays at its host`() throws {
    let session = try ferry.session()
    try origin.set("there=1", host: "localhost", in: session)
    let to = origin.url("/next", host: "localhost")
    try origin.set(on: "/moved", in: session, headers: [#""Cookie":"own=1""#, #""X-To":"\#(to)""#])
    #expect(origin.fields.suffix(2) == ["own=1", "there=1"])
  }
}

import Foundation
import JSON
import TestSupport
import Testing

/// Cookies in transfers: which cookies responses set, and which cookies requests carry.
@Suite(.serialized, .blocking, .sharing) struct CookieTests {
  private let place: InProcessAPI
  private let origin: CookieOrigin
  private let session: String
  private static let networks = ["127.0.0.0/8", "::1/128"]

  init() throws {
    place = try .ofSuite(networks: Self.networks)
    origin = CookieOrigin(place)
    session = try place.session()
  }

  /// previouslySetCookiesAreSentInLaterRequests.
  @Test func `cookies of a response are sent with later requests`() throws {
    #expect(try origin.sent(in: session) == nil)
    try origin.set("a=1", "b=2; HttpOnly", in: session)
    #expect(try origin.sent(in: session) == "a=1; b=2")
    try origin.set("a=3", in: session)
    #expect(try origin.sent(in: session) == "a=3; b=2", "a new value keeps the cookie's position")
    let items = try place.call("GET", "/v1/sessions/\(session)/cookies").json["items"]?.elements ?? []
    #expect(items.map { $0["isHTTPOnly"]?.bool } == [false, true])
    #expect(items.map { $0["isSessionOnly"]?.bool } == [true, true])
    #expect(items.map { $0["domain"]?.string } == ["127.0.0.1", "127.0.0.1"])
  }

  /// redirectionWithSetCookies.
  @Test(arguments: ["data", "download"]) func `cookies of a redirect are sent`(_ kind: String) throws {
    let headers = #","headers":{"X-Set":"a=1|b=2; Path=/elsewhere","X-To":"/next"}"#
    let task = try place.run(origin.url("/moved"), kind: kind, session: session, request: headers)
    #expect(task["response"]?["status"]?.integer == 200)
    #expect(origin.fields == [nil, "a=1"])
    #expect(try origin.sent(to: "/elsewhere", in: session) == "b=2; a=1")
  }

  @Test func `cookies do not follow a redirect to another host`() throws {
    try origin.set("here=1", in: session)
    try origin.set("there=1", host: "localhost", in: session)
    let to = origin.url("/next", host: "localhost")
    try origin.set("new=1", on: "/moved", in: session, headers: [#""X-To":"\#(to)""#])
    #expect(origin.fields.suffix(2) == ["here=1", "there=1"])
    #expect(try origin.sent(in: session) == "here=1; new=1")
    #expect(try origin.sent(host: "localhost", in: session) == "there=1")
  }

  @Test func `cookies of a 401 are stored before the challenge is answered`() throws {
    let asking = try place.session(delegate: #"{"taskChallenges":"ask"}"#)
    let task = try place.create(
      origin.url("/login"), session: asking, request: #","headers":{"X-Set":"step=1"}"#)
    let question = try place.decisionEvent(of: task, "task.didReceiveChallenge")
    #expect(try place.cookies(of: asking) == ["step=1"])
    #expect(try origin.sent(in: asking) == "step=1")
    try place.answer(
      question.decision,
      #"{"disposition":"useCredential","credential":{"user":"u","password":"p","persistence":"none"}}"#)
    #expect(try place.end(of: task)["response"]?["status"]?.integer == 200)
    #expect(origin.fields == [nil, "step=1", "step=1"])
  }

  /// URLSession on Linux ignores the path.
  @Test func `path of a cookie limits the requests`() throws {
    try origin.set("a=1; Path=/deep", "b=1; Path=/deep/", "bad=1; Path=deep", on: "/set/dir/x", in: session)
    let wanted: [(String, String?)] = [
      ("/deep", "a=1"), ("/deep?q", "a=1"), ("/deep/", "b=1; a=1"), ("/deep/x", "b=1; a=1"), ("/deeper", nil),
      ("/", nil), ("/DEEP", nil), ("/x/deep", nil), ("/set/dir/y", "bad=1"), ("/set/dir", "bad=1"),
      ("/set", nil),
    ]
    for (path, cookies) in wanted { #expect(try origin.sent(to: path, in: session) == cookies, "\(path)") }
  }

  @Test func `domain of a cookie limits the requests`() throws {
    try origin.set("all=1; Domain=a.localhost", "one=1", host: "b.a.localhost", in: session)
    try origin.set("dot=1; Domain=.a.localhost", "top=1", host: "a.localhost", in: session)
    let wanted: [(String, String?)] = [
      ("a.localhost", "all=1; dot=1; top=1"), ("b.a.localhost", "all=1; one=1; dot=1"),
      ("c.b.a.localhost", "all=1; dot=1"), ("A.LOCALHOST", "all=1; dot=1; top=1"), ("xa.localhost", nil),
      ("localhost", nil),
    ]
    for (host, cookies) in wanted {
      #expect(try origin.sent(host: host, in: session) == cookies, "\(host)")
    }
  }

  @Test func `cookies for foreign domains and public suffixes are ignored`() throws {
    try origin.set(
      "a=1; Domain=b.localhost", "b=1; Domain=c.a.localhost", "c=1; Domain=localhost",
      "d=1; Domain=127.0.0.1",
      "e=1; Domain=xa.localhost", "f=1; Domain=.", host: "a.localhost", in: session)
    try origin.set("g=1; Domain=0.0.1", "h=1; Domain=localhost", "i=1; Domain=127.0.0.1", in: session)
    // An IP address may name itself as the domain. An invalid domain counts as none.
    #expect(try place.cookies(of: session).sorted() == ["f=1", "i=1"])
    let proxied = try place.session(origin.proxied)
    for (host, suffix) in [
      ("shop.example.com", "com"), ("www.example.co.uk", "co.uk"), ("me.github.io", "github.io"),
      ("x.kawasaki.jp", "x.kawasaki.jp"),
    ] {
      try origin.set("s=1; Domain=\(suffix)", host: host, in: proxied)
      let kept = try place.call("GET", "/v1/sessions/\(proxied)/cookies").json["items"]?.elements ?? []
      // A host that is itself a public suffix gets a cookie for that host only.
      #expect(kept.map { $0["domain"]?.string } == (host == suffix ? [host] : []), "\(suffix)")
    }
    try origin.set("s=1; Domain=example.co.uk", host: "www.example.co.uk", in: proxied)
    #expect(try origin.sent(host: "other.example.co.uk", in: proxied) == "s=1")
    #expect(try origin.sent(host: "example2.co.uk", in: proxied) == nil)
  }

  @Test func `cookies expire`() throws {
    try origin.set("a=1", "b=1; Max-Age=3600", "c=1; Max-Age=0", "d=1; Max-Age=99999999999", in: session)
    #expect(try origin.sent(in: session) == "a=1; b=1; d=1")
    let items = try place.call("GET", "/v1/sessions/\(session)/cookies").json["items"]?.elements ?? []
    let times = items.map { $0["expiresDate"]?.string.flatMap(Self.date)?.timeIntervalSinceNow }
    #expect(times.first == .some(nil))
    #expect(times.dropFirst().allSatisfy { $0.map { $0 > 3000 } ?? false })
    #expect(times.last.map { $0.map { $0 > 399 * 86_400 && $0 <= 400 * 86_400 } ?? false } ?? false)
    try origin.set("a=1; Max-Age=0", "b=1; Expires=Thu, 01 Jan 1970 00:00:00 GMT", in: session)
    #expect(try place.cookies(of: session) == ["d=1"])
    // `Max-Age` overrides `Expires`. A cookie with another path is another cookie.
    try origin.set("d=2; Expires=Thu, 01 Jan 1970 00:00:00 GMT; Max-Age=60", in: session)
    try origin.set("d=3; Max-Age=0; Path=/other", in: session)
    #expect(try origin.sent(in: session) == "d=2")
  }

  private static func date(_ text: String) -> Date? {
    try? Date(text, strategy: .iso8601.year().month().day().time(includingFractionalSeconds: true))
  }

  @Test func `size and number of cookies are limited`() throws {
    let long = String(repeating: "v", count: 4095)
    try origin.set("a=\(long)", "b=\(long)v", "c=1; Path=/\(long.prefix(1024))", in: session)
    #expect(try place.cookies(of: session) == ["a=\(long)", "c=1"])
    #expect(try origin.sent(in: session) == "a=\(long); c=1", "a path that is too long is ignored")
    let many = try place.session()
    for batch in 0..<5 {
      let fields = (0..<50).map { #"n\#(batch * 50 + $0)=1"# }.joined(separator: "|")
      try origin.set(fields, in: many)
    }
    let kept = try place.cookies(of: many)
    #expect(kept.count == 180 && kept.first == "n70=1" && kept.last == "n249=1")
  }

  /// RFC 6265bis §5.8.3: longer paths come first, then older cookies. The RFC does not define a further order.
  @Test func `cookies are sorted by path length and age`() throws {
    try origin.set(
      "z=1; Path=/", "token", "q=\"a b\"", "e=", "=v", "x=a=b", " s \t= t ", "u=é", "m=1; Path=/set",
      "l=1; Path=/set/x", "k=1; Path=/set", in: session)
    #expect(
      try origin.sent(to: "/set/x/y", in: session)
        == "l=1; m=1; k=1; z=1; v; q=\"a b\"; e=; x=a=b; s=t; u=é")
  }

  @Test func `sessions do not share cookies`() throws {
    let other = try place.session()
    try origin.set("a=1", in: session)
    try origin.set("a=2", in: "ses_shared")
    #expect(try origin.sent(in: other) == nil)
    #expect(try origin.sent(in: session) == "a=1")
    #expect(try origin.sent(in: "ses_shared") == "a=2")
  }
}

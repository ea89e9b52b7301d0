import JSON
import Limits
import TestSupport
import Testing

/// `/v1/sessions/{id}/cookies`: store, list and delete.
@Suite(.serialized, .blocking, .sharing) struct CookieRouteTests {
  private let place: InProcessAPI
  private let session: String
  private var path: String { "/v1/sessions/\(session)/cookies" }

  init() throws {
    place = try .ofSuite()
    session = try place.session()
  }

  private func put(_ members: String, in session: String? = nil) throws -> HTTPReply {
    try place.call("PUT", session.map { "/v1/sessions/\($0)/cookies" } ?? path, "{\(members)}")
  }

  @Test func `stored cookie is shown with its attributes`() throws {
    let reply = try put(
      """
      "name":"n","value":"v","domain":".Example.COM","path":"/p","isSecure":true,"isHTTPOnly":true,
      "sameSitePolicy":"strict","maximumAge":3600
      """)
    #expect(reply.status == 200 && reply["ETag"] != nil && reply["Cache-Control"] == "no-store")
    let cookie = reply.json
    #expect(cookie["domain"]?.string == ".example.com" && cookie["path"]?.string == "/p")
    #expect(cookie["isSecure"]?.bool == true && cookie["isHTTPOnly"]?.bool == true)
    #expect(cookie["sameSitePolicy"]?.string == "strict" && cookie["isSessionOnly"]?.bool == false)
    #expect(cookie["expiresDate"]?.string != nil && cookie["createdDate"]?.string != nil)
    let list = try place.call("GET", path)
    #expect(list.json["items"]?.elements == [cookie] && list.json["nextCursor"] == .null)
    #expect(
      try place.call("GET", path, nil, [("If-None-Match", list["ETag"] ?? "")]).status == 304)
    #expect(try place.call("GET", "/v1/sessions/ses_shared/cookies").json["items"]?.elements == [])
  }

  @Test func `cookie replaces the cookie of equal domain, path and name`() throws {
    for members in [
      #""name":"a","value":"1","domain":"example.com""#, #""name":"a","value":"2","domain":".example.com""#,
      #""name":"a","value":"3","domain":"example.com","path":"/x""#,
      #""name":"a","value":"4","domain":"EXAMPLE.com.""#,
      #""name":"A","value":"5","domain":"example.com""#,
      #""name":"a","value":"6","url":"http://example.com/x/y""#,
    ] { #expect(try put(members).status == 200, "\(members)") }
    #expect(try place.cookies(of: session) == ["a=4", "a=2", "a=6", "A=5"])
    #expect(try put(#""name":"a","value":"7","domain":"example.com","maximumAge":0"#).status == 200)
    let past = #""expiresDate":"2001-01-01T00:00:00Z""#
    #expect(try put(#""name":"A","value":"","domain":"example.com",\#(past)"#).status == 200)
    #expect(try place.cookies(of: session) == ["a=2", "a=6"], "an expired cookie deletes the stored one")
  }

  private func plantFamily() throws {
    for (name, domain, path) in [
      ("a", ".example.com", "/"), ("b", "example.com", "/x"), ("c", "www.example.com", "/"),
      ("d", ".www.example.com", "/x"), ("e", "badexample.com", "/"), ("a", "127.0.0.1", "/"),
    ] {
      #expect(
        try put(#""name":"\#(name)","value":"1","domain":"\#(domain)","path":"\#(path)""#).status == 200)
    }
  }

  private static let filters: [(String, [String])] = [
    ("", ["a", "b", "c", "d", "e", "a"]), ("?domain=example.com", ["a", "b"]),
    ("?domain=.example.com", ["a", "b", "c", "d"]), ("?domain=WWW.example.com", ["c", "d"]),
    ("?domain=.com", ["a", "b", "c", "d", "e"]), ("?domain=com", []), ("?domain=127.0.0.1", ["a"]),
    ("?domain=.127.0.0.1", ["a"]), ("?path=/x", ["b", "d"]), ("?path=%2Fx", ["b", "d"]), ("?path=/X", []),
    ("?name=a", ["a", "a"]), ("?name=A", []), ("?domain=.example.com&path=/x&name=d", ["d"]),
    ("?name=", []),
  ]

  @Test(arguments: filters) func `filter selects cookies`(_ query: String, _ names: [String]) throws {
    try plantFamily()
    let all = ["a", "b", "c", "d", "e", "a"]
    #expect(try place.cookies(of: session, query).map { String($0.prefix(1)) } == names)
    #expect(try place.call("DELETE", path + query).status == 204)
    #expect(try place.cookies(of: session, query) == [])
    #expect(try place.cookies(of: session).count == all.count - names.count)
    #expect(try place.call("DELETE", path + query).status == 204, "a repeated deletion succeeds")
  }

  @Test func `list of cookies can be put into another session`() throws {
    try plantFamily()
    _ = try put(#""name":"s","value":"é\"","domain":"x.example","isSecure":true,"maximumAge":60"#)
    let list = try place.call("GET", path)
    let other = try place.session()
    let copy = try place.call("PUT", "/v1/sessions/\(other)/cookies", list.text)
    #expect(copy.status == 200)
    func bare(_ reply: HTTPReply) -> [[String: String]] {
      (reply.json["items"]?.elements ?? []).map { item in
        Dictionary(
          uniqueKeysWithValues: (item.members ?? []).filter { $0.name != "createdDate" }
            .map { ($0.name, $0.value.text) })
      }
    }
    #expect(bare(copy).count == 7 && bare(copy) == bare(list))
    #expect(try bare(place.call("GET", "/v1/sessions/\(other)/cookies")) == bare(list))
    #expect(try place.call("PUT", path, #"{"items":[]}"#).json["items"]?.elements == [])
    // A single invalid cookie makes the request fail as a whole.
    let empty = try place.session()
    let reply = try place.call(
      "PUT", "/v1/sessions/\(empty)/cookies",
      #"{"items":[{"name":"a","value":"1","domain":"x.test"},{"name":"b","value":"1","domain":7}]}"#)
    #expect(Self.pointers(reply) == ["/items/1/domain"])
    #expect(try place.cookies(of: empty) == [])
  }

  /// The list may contain cookies that only a server can set, such as those of a public suffix or with an unusual
  /// path.
  @Test func `listed cookies can be put back`() throws {
    let items = [
      #"{"name":"a","value":"1","domain":"co.uk"}"#,
      #"{"name":"a","value":"1","domain":"x.test","path":"/a;b"}"#,
      #"{"name":"a","value":"1","domain":"x.test","path":"/\#(String(repeating: "p", count: 1000))"}"#,
    ].joined(separator: ",")
    #expect(try place.call("PUT", path, #"{"items":[\#(items)]}"#).status == 200)
    let list = try place.call("GET", path)
    #expect(list.json["items"]?.elements?.count == 3)
    #expect(try place.call("PUT", path, list.text).text == list.text)
  }

  /// A list that is larger than a jar is refused before its items are read.
  @Test func `number of cookies in a request is limited`() throws {
    let items = { (count: Int) in
      (0..<count).map { #"{"name":"n\#($0)","value":"1","domain":"d\#($0 / 100).test"}"# }.joined(
        separator: ",")
    }
    let most = Limits.cookiesInRequest.value
    let refused = try place.call("PUT", path, #"{"items":[\#(items(most + 1))]}"#)
    #expect(refused.status == 422 && refused.json["type"]?.string?.hasSuffix("limit-exceeded") == true)
    #expect(refused.pointers == ["/items"])
    #expect(try place.call("GET", path).json["items"]?.elements == [])
    #expect(try place.call("PUT", path, #"{"items":[\#(items(most))]}"#).status == 200)
    #expect(try place.call("GET", path).json["items"]?.elements?.count == most)
  }

  /// The reply shows the cookies as they are stored, which may differ from the request.
  @Test func `reply shows the stored cookies`() throws {
    let first = try put(Self.good).json
    let again = try put(#""name":"n","value":"w","domain":"a.test""#).json
    #expect(again["createdDate"] == first["createdDate"] && again["value"]?.string == "w")
    #expect(try place.call("GET", path).json["items"]?.elements == [again])
    let items = [#""1""#, #""2""#, #""","path":"/x","maximumAge":0"#]
      .map { #"{"name":"n","domain":"a.test","value":\#($0)}"# }.joined(separator: ",")
    let twice = try place.call("PUT", path, #"{"items":[\#(items)]}"#)
    #expect(twice.json["items"]?.elements?.map { $0["value"]?.string } == ["2"])
  }

  /// Host and path as a request for the URL has them.
  @Test(arguments: [
    ("http://127.1/", "127.0.0.1", "/"), ("http://www.site.example/x/../y/z", "www.site.example", "/x/../y"),
    ("http://münchen.example/", "xn--mnchen-3ya.example", "/"),
  ]) func `cookie URL is parsed like that of a task`(_ url: String, _ domain: String, _ path: String) throws {
    let cookie = try put(#""name":"n","value":"v","url":"\#(url)""#).json
    #expect(cookie["domain"]?.string == domain && cookie["path"]?.string == path)
  }

  private static func pointers(_ reply: HTTPReply) -> [String] {
    guard [400, 422].contains(reply.status), reply["Content-Type"] == "application/problem+json" else {
      return ["\(reply.status)"]
    }
    return reply.json["errors"]?.elements?.compactMap { $0["pointer"]?.string } ?? []
  }

  private static let good = #""name":"n","value":"v","domain":"a.test""#
  private static let wrong: [(String, [String])] = [
    ("", ["/name", "/value", "/domain"]), (#""name":"n","value":"v""#, ["/domain"]),
    (#""name":1,"value":true,"domain":[]"#, ["/name", "/value", "/domain"]),
    (#""name":"a=b","value":"v","domain":"a.test""#, ["/name"]),
    (#""name":"a;b","value":"v","domain":"a.test""#, ["/name"]),
    (#""name":" a","value":"v","domain":"a.test""#, ["/name"]),
    (#""name":"a\u0000","value":"v","domain":"a.test""#, ["/name"]),
    (#""name":"","value":"","domain":"a.test""#, ["/name"]),
    (#""name":"n","value":"a;b","domain":"a.test""#, ["/value"]),
    (#""name":"n","value":"a\r\nX: y","domain":"a.test""#, ["/value"]),
    (#""name":"n","value":"v ","domain":"a.test""#, ["/value"]),
    (#""name":"n","value":"\#(String(repeating: "v", count: 4096))","domain":"a.test""#, ["/value"]),
    (#""name":"n","value":"v","domain":"a b""#, ["/domain"]),
    (#""name":"n","value":"v","domain":"..a.test""#, ["/domain"]),
    (#""name":"n","value":"v","domain":"bücher.example""#, ["/domain"]),
    (#""name":"n","value":"v","domain":"""#, ["/domain"]),
    (#""name":"n","value":"v","domain":".com""#, ["/domain"]),
    (#""name":"n","value":"v","domain":".co.uk""#, ["/domain"]),
    (#""name":"n","value":"v","domain":"127.1""#, ["/domain"]),
    (#""name":"n","value":"v","url":"http://[zz]/""#, ["/url"]),
    (#""name":"n","value":"v","domain":".github.io""#, ["/domain"]),
    (#""name":"n","value":"v","domain":".localhost""#, ["/domain"]),
    (good + #","path":"x""#, ["/path"]), (good + #","path":1"#, ["/path"]),
    (good + #","expiresDate":"tomorrow""#, ["/expiresDate"]), (good + #","expiresDate":1"#, ["/expiresDate"]),
    (good + #","maximumAge":-1"#, ["/maximumAge"]), (good + #","maximumAge":"1""#, ["/maximumAge"]),
    (good + #","isSecure":"yes""#, ["/isSecure"]), (good + #","isHTTPOnly":1"#, ["/isHTTPOnly"]),
    (good + #","sameSitePolicy":"Lax""#, ["/sameSitePolicy"]),
    (good + #","sameSitePolicy":"none""#, ["/sameSitePolicy"]), (good + #","secure":true"#, ["/secure"]),
    (#""name":"n","value":"v","url":"ftp://a.test/""#, ["/url"]),
    (#""name":"n","value":"v","url":"/x""#, ["/url"]),
    (#""name":"__Host-n","value":"v","domain":"a.test""#, ["/name"]),
    (#""name":"__Host-n","value":"v","domain":".a.test","isSecure":true"#, ["/name"]),
    (#""name":"__secure-n","value":"v","domain":"a.test""#, ["/name"]),
    (#""items":{}"#, ["/items"]), (#""items":[1]"#, ["/items/0"]), (#""items":[],"more":1"#, ["/more"]),
  ]

  @Test func `invalid cookie is refused with pointers`() throws {
    for (members, pointers) in Self.wrong {
      let reply = try put(members)
      let found = Self.pointers(reply)
      #expect(
        Set(found).isSuperset(of: pointers)
          && found.allSatisfy { name in pointers.contains { name.hasPrefix($0) } },
        "\(members.prefix(120)): \(reply.text)")
    }
    #expect(try place.cookies(of: session) == [])
    for body in ["[]", "7", "null"] { #expect(try place.call("PUT", path, body).status == 400, "\(body)") }
    #expect(try place.call("PUT", path, "{").json["type"]?.string == "/problems/malformed-json")
    #expect(try place.call("PUT", path, "{}", [("Content-Type", "text/plain")]).status == 415)
  }

  @Test func `unknown query parameters and sessions are refused`() throws {
    for method in ["GET", "DELETE"] {
      for (query, name) in [
        ("domian=a.test", "/domian"), ("domain=%21", "/domain"), ("domain=", "/domain"),
        ("domain=m%C3%BCnchen.de", "/domain"), ("name=a&name=b", "/name"),
      ] { #expect(try Self.pointers(place.call(method, "\(path)?\(query)")) == [name], "\(query)") }
    }
    let query = try place.call("PUT", path + "?name=a", "{\(Self.good)}")
    #expect(Self.pointers(query) == ["/name"])
    for id in ["ses_00000000-0000-7000-8000-000000000000", "x"] {
      for (method, body) in [("GET", nil), ("PUT", "{\(Self.good)}"), ("DELETE", nil)] {
        #expect(try place.call(method, "/v1/sessions/\(id)/cookies", body).status == 404, "\(method) \(id)")
      }
    }
    let reply = try place.call("POST", path, "{}")
    #expect(reply.status == 405 && reply["Allow"]?.contains("PUT") == true)
  }

  @Test func `invalid session accepts no cookies but deletes them`() throws {
    #expect(try put(Self.good).status == 200)
    _ = try place.call("POST", "/v1/sessions/\(session)/invalidate", #"{"mode":"cancelTasks"}"#)
    #expect(try put(Self.good).status == 409)
    #expect(try place.cookies(of: session) == ["n=v"])
    #expect(try place.call("DELETE", path).status == 204)
    #expect(try place.cookies(of: session) == [])
  }
}

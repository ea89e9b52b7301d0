import JSON
import TestSupport
import Testing

/// Each invalid member of a request is named, and the request changes nothing.
@Suite(.serialized, .blocking, .sharing) struct FieldValidationTests {
  private let place: InProcessAPI

  init() throws { place = try .ofSuite() }

  struct Case: Sendable, CustomTestStringConvertible {
    let body: String
    let pointer: String
    var testDescription: String { "\(pointer): \(body)" }
  }

  private static let taskCases: [Case] = [
    Case(body: #"{"kind":"download"}"#, pointer: "/request"),
    Case(body: #"{"request":{"url":"http://a/"}}"#, pointer: "/kind"),
    Case(body: #"{"kind":"teleport","request":{"url":"http://a/"}}"#, pointer: "/kind"),
    Case(body: #"{"kind":"data","request":{"url":"http://a/"},"colour":1}"#, pointer: "/colour"),
    Case(body: #"{"kind":"data","request":{"url":"http://a/","uri":"x"}}"#, pointer: "/request/uri"),
    Case(body: #"{"kind":"data","request":{"url":7}}"#, pointer: "/request/url"),
    Case(body: #"{"kind":"data","request":{"url":"not a url"}}"#, pointer: "/request/url"),
    Case(body: #"{"kind":"data","request":{"url":"http://"}}"#, pointer: "/request/url"),
    Case(body: #"{"kind":"data","request":{"url":"http://h:999999/"}}"#, pointer: "/request/url"),
    Case(body: #"{"kind":"data","request":{"url":"ftp://h/x"}}"#, pointer: "/request/url"),
    Case(body: #"{"kind":"data","request":{"url":"file:///etc/passwd"}}"#, pointer: "/request/url"),
    Case(body: #"{"kind":"data","request":{"url":"http://a/","method":"G T"}}"#, pointer: "/request/method"),
    Case(
      body: #"{"kind":"data","request":{"url":"http://a/","headers":{"A b":"c"}}}"#,
      pointer: "/request/headers/A b"),
    Case(
      body: #"{"kind":"data","request":{"url":"http://a/","headers":{"A":"b\r\nC: d"}}}"#,
      pointer: "/request/headers/A"),
    Case(
      body: #"{"kind":"data","request":{"url":"http://a/","headers":{"Host":"b"}}}"#,
      pointer: "/request/headers/Host"),
    Case(
      body: #"{"kind":"data","request":{"url":"http://a/","body":{"base64":"!"}}}"#,
      pointer: "/request/body/base64"),
    Case(body: #"{"kind":"data","request":{"url":"http://a/"},"priority":2}"#, pointer: "/priority"),
    Case(body: #"{"kind":"data","request":{"url":"http://a/"},"resume":"yes"}"#, pointer: "/resume"),
    Case(
      body: #"{"kind":"data","request":{"url":"http://a/"},"completion":{"webhook":{"url":"x"}}}"#,
      pointer: "/completion/webhook/url"),
    Case(
      body:
        #"{"kind":"data","request":{"url":"http://a/"},"completion":{"webhook":{"url":"http://a","secret":"s"}}}"#,
      pointer: "/completion/webhook/secret"),
  ]

  @Test(arguments: taskCases) func taskFieldIsNamed(_ wrong: Case) throws {
    let reply = try place.call("POST", "/v1/tasks", wrong.body)
    #expect(reply.status == 400 && reply["Content-Type"] == "application/problem+json")
    #expect(reply.json["type"]?.string == "/problems/invalid-request")
    #expect(reply.pointers == [wrong.pointer])
    let tasks = try place.call("GET", "/v1/sessions/ses_shared/tasks")
    #expect(tasks.json["items"]?.elements?.isEmpty == true)
  }

  @Test(arguments: [
    Case(body: #"{"type":"shared"}"#, pointer: "/type"),
    Case(
      body: #"{"configuration":{"timeoutIntervalForRequest":"soon"}}"#,
      pointer: "/configuration/timeoutIntervalForRequest"),
    Case(
      body: #"{"configuration":{"httpMaximumConnectionsPerHost":0}}"#,
      pointer: "/configuration/httpMaximumConnectionsPerHost"),
    Case(body: #"{"configuration":{"timeout":1}}"#, pointer: "/configuration/timeout"),
    Case(body: #"{"delegate":{"redirects":"maybe"}}"#, pointer: "/delegate/redirects"),
    Case(
      body: #"{"delegate":{"webhook":{"url":"http://a","events":["task.didWonder"]}}}"#,
      pointer: "/delegate/webhook/events/0"),
    Case(
      body: #"{"type":"ephemeral","configuration":{"urlCache":{"diskCapacity":5.0}}}"#,
      pointer: "/configuration/urlCache/diskCapacity"),
    Case(body: #"[]"#, pointer: ""),
  ]) func sessionFieldIsNamed(_ wrong: Case) throws {
    let reply = try place.call("POST", "/v1/sessions", wrong.body)
    #expect(reply.status == 400)
    #expect(reply.pointers == [wrong.pointer])
  }

  @Test(arguments: [
    ("GET", "/v1/events", "Last-Event-ID", "x"), ("GET", "/v1/events", "Last-Event-ID", "-1"),
    ("POST", "/v1/tasks", "Idempotency-Key", ""),
    ("POST", "/v1/tasks", "Idempotency-Key", String(repeating: "k", count: 256)),
    ("POST", "/v1/sessions", "Idempotency-Key", "\"\""),
  ]) func headerFieldIsNamed(_ method: String, _ target: String, _ name: String, _ value: String) throws {
    let body = target == "/v1/sessions" ? "{}" : #"{"kind":"data","request":{"url":"http://a/"}}"#
    let reply = try place.call(method, target, method == "GET" ? nil : body, [(name, value)])
    #expect(reply.status == 400 && reply.json["type"]?.string == "/problems/invalid-request")
    #expect(reply.pointers == ["/" + name])
    #expect(reply.json["errors"]?.elements?.first?["in"]?.string == "header")
  }

  /// The text is valid JSON (RFC 8259 §9), but it exceeds Ferry's limits.
  @Test(arguments: [
    Case(body: #"{"kind":"data","priority":1e400}"#, pointer: "/priority"),
    Case(body: #"{"a":{"b/c":[0,-1e999]}}"#, pointer: "/a/b~1c/1"),
    Case(
      body: #"{"x":"# + String(repeating: "[", count: 64) + String(repeating: "]", count: 64) + "}",
      pointer: "/x" + String(repeating: "/0", count: 63)),
  ]) func `number or depth above the limit is named`(_ wrong: Case) throws {
    for target in ["/v1/tasks", "/v1/sessions"] {
      let reply = try place.call("POST", target, wrong.body)
      #expect(reply.status == 400 && reply.json["type"]?.string == "/problems/invalid-request")
      #expect(reply.pointers == [wrong.pointer])
    }
    let batch = try place.call("POST", "/v1/tasks", wrong.body, [("Content-Type", "application/x-ndjson")])
    #expect(batch.lines.first?["errors"]?.elements?.first?["pointer"]?.string == wrong.pointer)
  }

  /// The limits are in bytes of UTF-8.
  @Test func `descriptions and URLs have a limit`() throws {
    let (fits, tooLong) = (
      String(repeating: "é", count: 32 * 1024), String(repeating: "é", count: 32 * 1024) + "x"
    )
    let path = String(repeating: "x", count: 64 * 1024 - 9)
    func task(_ description: String, _ url: String = "http://a/") -> String {
      #"{"kind":"data","description":"\#(description)","request":{"url":"\#(url)"}}"#
    }
    let created = try place.call("POST", "/v1/tasks", task(fits, "http://a/" + path))
    #expect(created.status == 201 && created.json["description"]?.string == fits)
    let target = "/v1/tasks/\(created.json.id)"
    for (method, target, body, pointer) in [
      ("POST", "/v1/tasks", task(tooLong), "/description"),
      ("PATCH", target, #"{"description":"\#(tooLong)"}"#, "/description"),
      ("POST", "/v1/sessions", #"{"description":"\#(tooLong)"}"#, "/description"),
      ("POST", "/v1/tasks", task("", "http://a/x" + path), "/request/url"),
    ] {
      let reply = try place.call(method, target, body)
      #expect(reply.status == 422 && reply.pointers == [pointer], "\(method) \(target)")
    }
    #expect(try place.call("PATCH", target, #"{"description":"\#(fits)"}"#).status == 200)
    #expect(try place.call("POST", target + "/cancel").status == 200)
  }

  @Test func `all violations are reported at once`() throws {
    let reply = try place.call("POST", "/v1/tasks", #"{"kind":1,"request":{"url":"x","y":2},"z":3}"#)
    #expect(reply.json["errors"]?.elements?.count == 4)
  }
}

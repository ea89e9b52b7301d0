import JSON
import TestSupport
import Testing

/// The form of replies in JSON: the line feed at the end, and `?pretty`.
@Suite(.serialized, .blocking, .sharing) struct FormatTests {
  private let place: InProcessAPI

  init() throws { place = try .ofSuite() }

  @Test func `reply ends with one line feed`() throws {
    let session = try place.session()
    for (method, path, status) in [
      ("GET", "/v1/sessions/\(session)", 200), ("GET", "/v1/sessions", 200), ("POST", "/v1/sessions", 201),
      ("GET", "/v1/sessions/x", 404), ("POST", "/v1/tasks", 400),
    ] {
      let reply = try place.call(method, path, method == "POST" ? "{}" : nil)
      #expect(reply.status == status && reply.text.hasSuffix("}\n"), "\(path): \(reply.text)")
      #expect(reply["Content-Length"] == "\(reply.body.count)")
    }
  }

  @Test func `pretty formats the reply`() throws {
    let session = try place.session()
    for path in ["/v1/sessions/\(session)", "/v1/sessions/x", "/v1/tasks?unknown=1"] {
      let plain = try place.call("GET", path)
      let target = path + (path.contains("?") ? "&" : "?") + "pretty"
      let reply = try place.call("GET", target)
      #expect(reply.status == plain.status && reply.json == plain.json)
      #expect(reply.text == String(decoding: JSONFormatter.format(plain.body), as: UTF8.self) + "\n")
      #expect(reply["ETag"] == plain["ETag"].map { "W/" + $0 })
      #expect(try place.call("GET", target + "=false").text == plain.text)
    }
    let refused = try place.call("GET", "/v1/sessions?pretty=1")
    #expect(refused.status == 400 && refused.text.contains("true or false"))
  }

  @Test func `formatted resource is not sent again`() throws {
    let path = "/v1/sessions/\(try place.session())?pretty=true"
    let first = try place.call("GET", path)
    let again = try place.call("GET", path, nil, [("If-None-Match", try #require(first["ETag"]))])
    #expect(again.status == 304 && again.body.isEmpty)
    #expect(again["Content-Length"] == nil || again["Content-Length"] == first["Content-Length"])
  }

  @Test func `body of a task stays as it is`() throws {
    let origin = TestOrigin { _, socket in
      try socket.write(
        "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 7\r\n\r\n{\"a\":1}")
      return true
    }
    let task = try place.run(origin.url)
    #expect(try place.call("GET", "/v1/tasks/\(task.id)/body?pretty").text == #"{"a":1}"#)
    withExtendedLifetime(origin) {}
  }
}

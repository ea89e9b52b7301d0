import JSON
import TestSupport
import Testing

/// The status and problem of invalid requests. Unreachable and forbidden destinations are errors of the task instead.
@Suite(.serialized, .blocking, .sharing) struct RequestStatusTests {
  private let place: InProcessAPI

  init() throws { place = try .ofSuite() }

  private func cookie(_ member: String) -> String {
    #"{"name":"a","value":"b","domain":"a.example",\#(member)}"#
  }

  @Test func `begin date before 1970 is accepted and kept`() throws {
    let body =
      #"{"kind":"data","earliestBeginDate":"1517-10-25T10:46:13Z","request":{"url":"http://127.0.0.1:1/"}}"#
    let created = try place.call("POST", "/v1/tasks", body)
    #expect(created.json["earliestBeginDate"]?.string == "1517-10-25T10:46:13.000Z")
    let path = "/v1/tasks/" + (created.json["id"]?.string ?? "")
    #expect(try place.call("GET", path).status == 200)
    let patched = try place.call("PATCH", path, #"{"earliestBeginDate":"0001-01-01T00:00:00Z"}"#)
    #expect(patched.json["earliestBeginDate"]?.string == "0001-01-01T00:00:00.000Z")
    let late = try place.call("PATCH", path, #"{"earliestBeginDate":"9999-12-31T23:59:60Z"}"#)
    #expect(late.status == 400 && late.pointers == ["/earliestBeginDate"])
    #expect(try place.call("GET", path).json["earliestBeginDate"]?.string == "0001-01-01T00:00:00.000Z")
    #expect(try place.call("POST", path + "/cancel").status == 200)
  }

  @Test func `invalid request gets its status and a problem`() throws {
    let unknown = "tsk_01940000-0000-7000-8000-000000000000"
    let statuses: [(String, String, String?, [(String, String)], Int)] = [
      ("GET", "/nothing", nil, [], 404), ("GET", "/v1/tasks/\(unknown)", nil, [], 404),
      ("GET", "/v1/tasks/garbage", nil, [], 404), ("GET", "/v1/tasks/\(unknown)/body", nil, [], 404),
      ("GET", "/v1/tasks/\(unknown)/events", nil, [], 404),
      ("POST", "/v1/tasks/\(unknown)/resume", nil, [], 404),
      ("GET", "/v1/sessions/ses_x/tasks", nil, [], 404), ("DELETE", "/v1/tasks", nil, [], 405),
      ("PUT", "/v1/sessions", "{}", [], 405), ("POST", "/v1/sessions", "{", [], 400),
      ("POST", "/v1/sessions", "a=b", [("Content-Type", "application/x-www-form-urlencoded")], 415),
      ("GET", "/v1/sessions?limit=0", nil, [], 400), ("GET", "/v1/sessions?page=2", nil, [], 400),
      ("GET", "/v1/sessions?cursor=!!", nil, [], 400),
      ("GET", "/v1/events?after=x", nil, [("Last-Event-ID", "3")], 400),
      ("POST", "/v1/tasks?include=all", "", [("Content-Type", "application/x-ndjson")], 400),
      ("PUT", "/v1/sessions/ses_shared/cookies", #"{"items":[],"nextCursor":7}"#, [], 400),
      ("PUT", "/v1/sessions/ses_shared/cookies", cookie(#""isSessionOnly":1"#), [], 400),
      ("PUT", "/v1/sessions/ses_shared/cookies", cookie(#""createdDate":1"#), [], 400),
      ("GET", "/v1/sessions", nil, [("Accept", "text/html")], 406),
      ("POST", "/v1/sessions/ses_shared/invalidate", nil, [], 409),
      ("DELETE", "/v1/sessions/ses_shared", nil, [], 409),
    ]
    for (method, target, body, fields, status) in statuses {
      let reply = try place.call(method, target, body, fields)
      #expect(reply.status == status, "\(method) \(target)")
      #expect(reply["Content-Type"] == "application/problem+json", "\(method) \(target)")
      #expect(reply["Request-Id"] != nil && reply["Cache-Control"] == "no-store")
      let page = try #require(reply.json["type"]?.string)
      #expect(try place.call("GET", page).status == 200, "\(page)")
    }
    #expect(try place.call("DELETE", "/v1/tasks")["Allow"] == "GET, HEAD, OPTIONS, POST")
  }

  @Test func `forbidden or unreachable destination is an error of the task`() throws {
    let closed = try InProcessAPI(networks: [])
    let refused = try closed.run("http://127.0.0.1:9/")
    #expect(refused["error"]?["domain"]?.string == "FerryErrorDomain")
    #expect(refused["error"]?["name"]?.string == "destinationNotPermitted")
    #expect(refused["error"]?["rule"]?.string == "loopback")
    for url in [
      "http://2130706433/", "http://127.1/", "http://[::ffff:127.0.0.1]/", "http://localhost:9/",
      "http://0x7f000001/",
    ] {
      #expect(try closed.run(url)["error"]?["name"]?.string == "destinationNotPermitted", "\(url)")
    }
    #expect(try place.run("http://169.254.169.254/")["error"]?["rule"]?.string == "cloud-metadata")
    #expect(try place.run("http://127.0.0.1:1/")["error"]?["code"]?.integer == -1004)
    #expect(try place.run("http://no-such-host.invalid/")["error"]?["code"]?.integer == -1003)
    let origin = TestOrigin { _, socket in
      try socket.write(TestOrigin.reply("302 Found", [], [("Location", "http://10.1.2.3/")]))
      return true
    }
    let redirected = try place.run(origin.url)["error"]
    #expect(redirected?["rule"]?.string == "private", "\(String(describing: redirected))")
    #expect(origin.requests.count == 1)
  }
}

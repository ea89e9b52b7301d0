import Foundation
import JSON
import TestSupport
import Testing

/// `URLSession.reset()` and `URLSession.flush()`.
@Suite(.serialized, .blocking, .sharing) struct ResetFlushTests {
  private let ferry: FerryProcess
  private let origin: TestOrigin
  /// A relay to the origin that counts connections.
  private let relay: TCPRelay
  private var url: String { "http://127.0.0.1:\(relay.port)" }

  init() throws {
    ferry = try .ofSuite()
    origin = TestOrigin { request, socket in
      let isUnknown = request.path == "/login" && request["Authorization"] == nil
      let challenge = isUnknown ? [("WWW-Authenticate", "Basic realm=\"r\"")] : []
      let fields =
        request.path == "/" ? [("Set-Cookie", "a=1"), ("Cache-Control", "max-age=3600")] : challenge
      let body = Array(request.path.utf8)
      try socket.write(TestOrigin.reply(isUnknown ? "401 Who" : "200 OK", body, fields))
      return true
    }
    relay = TCPRelay(to: origin.port)
  }

  private func run(_ path: String, in session: String) throws -> JSONValue {
    try ferry.run(url + path, kind: "data", session: session)
  }

  private func post(_ verb: String, _ session: String) throws -> HTTPReply {
    try ferry.call("POST", "/v1/sessions/\(session)/\(verb)")
  }

  private func cached(in session: String) throws -> Int64? {
    try ferry.call("GET", "/v1/sessions/\(session)/cache").json["countOfEntries"]?.integer
  }

  private func credentials(of session: String) throws -> Int {
    try ferry.call("GET", "/v1/sessions/\(session)/credentials").json["items"]?.elements?.count ?? -1
  }

  /// Returns a session with a cookie, a cached response, credentials and a connection.
  private func furnish(_ type: String) throws -> String {
    let session = try ferry.call("POST", "/v1/sessions", #"{"type":"\#(type)"}"#).json.id
    for (realm, persistence) in [("r", "forSession"), ("other", "permanent")] {
      let space = #"{"host":"127.0.0.1","port":\#(relay.port),"protocol":"http","realm":"\#(realm)"}"#
      let credential = #"{"user":"u","password":"p","persistence":"\#(persistence)"}"#
      _ = try ferry.call(
        "PUT", "/v1/sessions/\(session)/credentials",
        #"{"protectionSpace":\#(space),"credential":\#(credential)}"#)
    }
    #expect(try run("/login", in: session)["response"]?["status"]?.integer == 200)
    #expect(try run("/", in: session)["response"]?["fromCache"]?.bool == false)
    #expect(try run("/", in: session)["response"]?["fromCache"]?.bool == true)
    #expect(try ferry.cookies(of: session) == ["a=1"])
    #expect(try cached(in: session) == 1 && credentials(of: session) == 2)
    #expect(relay.connections == 1)
    return session
  }

  @Test(arguments: ["default", "ephemeral"]) func `reset deletes all session data`(_ type: String) throws {
    let session = try furnish(type)
    let reply = try post("reset", session)
    #expect(reply.status == 200 && reply.json.id == session && reply["ETag"] != nil)
    #expect(try reply.body == ferry.call("GET", "/v1/sessions/\(session)").body)
    #expect(try ferry.cookies(of: session) == [])
    #expect(try cached(in: session) == 0 && credentials(of: session) == 0)
    let before = origin.requests.count
    #expect(try run("/", in: session)["response"]?["fromCache"]?.bool == false)
    #expect(relay.connections == 2, "the session opens a new connection")
    #expect(try run("/login", in: session)["response"]?["status"]?.integer == 401, "the login was deleted")
    let requests = origin.requests[before...]
    #expect(requests.map(\.path) == ["/", "/login"])
    #expect(requests.first?["Cookie"] == nil && requests.allSatisfy { $0["Authorization"] == nil })
    #expect(relay.connections == 2)
    #expect(try ferry.cookies(of: session) == ["a=1"], "the session stores new cookies")
  }

  @Test(arguments: ["default", "ephemeral"]) func `flush closes idle connections only`(
    _ type: String
  ) throws {
    let session = try furnish(type)
    let reply = try post("flush", session)
    #expect(reply.status == 200 && reply.json.id == session)
    #expect(try ferry.cookies(of: session) == ["a=1"])
    #expect(try cached(in: session) == 1 && credentials(of: session) == 2)
    #expect(try run("/", in: session)["response"]?["fromCache"]?.bool == true)
    let before = origin.requests.count
    #expect(try run("/login", in: session)["response"]?["status"]?.integer == 200)
    #expect(relay.connections == 2)
    #expect(origin.requests[before...].last?["Cookie"] == "a=1")
    #expect(origin.requests[before...].map { $0["Authorization"] != nil } == [true], "the login is kept")
  }

  @Test func `other sessions are not affected`() throws {
    let (one, other) = (try furnish("default"), try ferry.session())
    #expect(try run("/other", in: other)["error"] == .null)
    #expect(relay.connections == 2)
    for verb in ["reset", "flush"] {
      #expect(try post(verb, other).status == 200)
      #expect(try ferry.cookies(of: one) == ["a=1"])
      #expect(try run("/again", in: one)["error"] == .null)
    }
    #expect(relay.connections == 2, "the session keeps its connection")
  }

  @Test(arguments: ["reset", "flush"]) func `running task is not affected`(_ verb: String) throws {
    let gate = Gate()
    let slow = TestOrigin { request, socket in
      try socket.write("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nab")
      if request.path == "/slow" { gate.wait() }
      try socket.write("cd")
      return true
    }
    let session = try ferry.session()
    let task = try ferry.create(slow.url + "/slow", session: session)
    _ = try ferry.events("/v1/tasks/\(task)/events?after=0").read(upTo: "dataTask.didReceiveResponse")
    #expect(try post(verb, session).status == 200)
    #expect(try ferry.run(slow.url + "/quick", session: session)["error"] == .null)
    gate.open()
    #expect(try ferry.end(of: task)["error"] == .null)
    #expect(try ferry.call("GET", "/v1/tasks/\(task)/body").text == "abcd")
  }

  @Test(arguments: ["reset", "flush"]) func `only an unknown session is refused`(_ verb: String) throws {
    #expect(try run("/", in: "ses_shared")["error"] == .null)
    #expect(try post(verb, "ses_shared").json.id == "ses_shared")
    #expect(try ferry.cookies(of: "ses_shared") == (verb == "reset" ? [] : ["a=1"]))
    let session = try ferry.session()
    _ = try ferry.call("POST", "/v1/sessions/\(session)/invalidate", #"{"mode":"cancelTasks"}"#)
    #expect(try post(verb, session).status == 200)
    for id in ["ses_00000000-0000-7000-8000-000000000000", "x"] {
      let reply = try post(verb, id)
      #expect(reply.status == 404 && reply["Content-Type"] == "application/problem+json")
    }
    #expect(try ferry.call("POST", "/v1/sessions/\(session)/\(verb)?x=1").status == 400)
    #expect(try ferry.call("GET", "/v1/sessions/\(session)/\(verb)").status == 405)
  }

  @Test func `reset persists across a restart`() throws {
    let directory = TemporaryDirectory.make("ferry-reset")
    defer { try? FileManager.default.removeItem(atPath: directory) }
    let first = try FerryProcess(directory: directory)
    let session = try first.session()
    _ = try first.call(
      "PUT", "/v1/sessions/\(session)/cookies", #"{"name":"a","value":"1","domain":"a.test"}"#)
    _ = try first.run(url + "/", kind: "data", session: session)
    #expect(try first.cookies(of: session).count == 2)
    #expect(try first.call("POST", "/v1/sessions/\(session)/reset").status == 200)
    first.kill()
    let second = try FerryProcess(directory: directory)
    #expect(try second.cookies(of: session) == [])
    let cache = try second.call("GET", "/v1/sessions/\(session)/cache").json
    #expect(cache["countOfEntries"]?.integer == 0 && cache["currentDiskUsage"]?.integer == 0)
    second.kill()
  }
}

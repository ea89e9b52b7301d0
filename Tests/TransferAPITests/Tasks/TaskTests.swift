import JSON
import TestSupport
import Testing

/// Tasks from their creation to their end, and their events.
@Suite(.serialized, .blocking, .sharing) struct TaskTests {
  private let place: InProcessAPI
  private let origin = TestOrigin { request, socket in
    switch request.path {
    case "/hello":
      try socket.write(TestOrigin.reply("200 OK", Array("hello".utf8), [("Content-Type", "text/plain")]))
    case "/missing": try socket.write(TestOrigin.reply("404 Not Found", Array("gone".utf8)))
    case "/empty": try socket.write(TestOrigin.reply("200 OK"))
    case "/echo": try socket.write(TestOrigin.reply("200 OK", Array("\(request.line)\n".utf8) + request.body))
    case "/silent": return (try socket.readSome()) != nil
    case "/redirect": try socket.write(TestOrigin.reply("302 Found", [], [("Location", "/hello")]))
    case "/loop": try socket.write(TestOrigin.reply("302 Found", [], [("Location", "/loop")]))
    case "/half":
      try socket.write("HTTP/1.1 200 OK\r\nContent-Length: 10\r\nX-A: b\r\n\r\nhalf")
      return (try socket.readSome()) != nil
    case "/cut":
      try socket.write("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf")
      return false
    default: try socket.write(TestOrigin.reply("200 OK", Array(request.path.utf8)))
    }
    return true
  }

  init() throws { place = try .ofSuite() }

  /// URLSessionTask.response is available as soon as the head has arrived.
  @Test(arguments: ["data", "download"]) func `running task shows its response`(_ kind: String) throws {
    let task = #"{"kind":"\#(kind)","resume":true,"request":{"url":"\#(origin.url)/half"}}"#
    let id = try place.call("POST", "/v1/tasks", task).json.id
    let running = try place.poll("/v1/tasks/\(id)") { $0["response"] != .null }
    #expect(running["state"]?.string == "running" && running["response"]?["status"]?.integer == 200)
    #expect(running["response"]?["headers"]?["X-A"]?.string == "b")
    #expect(running["progress"]?["countOfBytesExpectedToReceive"]?.integer == 10)
    _ = try place.act("cancel", id)
  }

  /// The `Content-Length` of a HEAD response describes a body that is not sent.
  @Test func `HEAD expects no bytes`() throws {
    let task = try place.run(origin.url + "/hello", kind: "data", request: #","method":"HEAD""#)
    #expect(task["response"]?["expectedContentLength"]?.integer == 5)
    #expect(task["progress"]?["countOfBytesExpectedToReceive"]?.integer == 0)
  }

  @Test func `data task emits its response`() throws {
    let session = try place.session()
    let task = try place.run(origin.url + "/hello", kind: "data", session: session, query: "?include=body")
    #expect(task["body"]?["text"]?.string == "hello")
    let types = try place.events(
      "/v1/sessions/\(session)/events?after=0&types=dataTask.didReceiveResponse,task.didComplete"
    )
    .read(upTo: "task.didComplete").map(\.type)
    #expect(types == ["dataTask.didReceiveResponse", "task.didComplete"])
  }

  @Test func httpStatusIsNoErrorAndEmptyBodyIsABody() throws {
    let missing = try place.run(origin.url + "/missing", query: "?include=body")
    #expect(missing["error"] == .null && missing["response"]?["status"]?.integer == 404)
    #expect(missing["body"]?["text"]?.string == "gone")
    let empty = try place.run(origin.url + "/empty")
    #expect(empty["body"]?["size"]?.integer == 0)
    #expect(try place.call("GET", "/v1/tasks/\(empty["id"]?.string ?? "")/body").status == 200)
  }

  @Test func requestBodyAndMethodAreSent() throws {
    for (method, body, sent) in [
      ("POST", #","body":{"text":"héy"}"#, "héy"), ("PUT", #","body":{"base64":"AQID"}"#, "\u{1}\u{2}\u{3}"),
      ("DELETE", "", ""), ("POST", "", ""),
    ] {
      let task = try place.run(
        origin.url + "/echo", kind: "data", request: #","method":"\#(method)"\#(body)"#,
        query: "?include=body")
      #expect(task["body"]?["text"]?.string == "\(method) /echo HTTP/1.1\n\(sent)")
    }
    #expect(origin.requests.last?["Content-Type"] == nil)
    let get = try place.run(origin.url + "/echo", request: #","body":{"text":"x"}"#)
    #expect(get["error"]?["code"]?.integer == -1103)
  }

  @Test func `redirects are followed and reported`() throws {
    let session = try place.session()
    let task = try place.run(origin.url + "/redirect", session: session)
    #expect(task["response"]?["url"]?.string == origin.url + "/hello")
    #expect(task["currentRequest"]?["url"]?.string == origin.url + "/hello")
    #expect(task["originalRequest"]?["url"]?.string == origin.url + "/redirect")
    let events = try place.events("/v1/sessions/\(session)/events?after=0").read(upTo: "task.didComplete")
    #expect(events.map(\.type).contains("task.willPerformHTTPRedirection"))
    let loop = try place.run(origin.url + "/loop")
    #expect(loop["error"]?["code"]?.integer == -1007)
  }

  @Test func connectionThatIsCutIsAnError() throws {
    #expect(try place.run(origin.url + "/cut")["error"]?["name"]?.string == "networkConnectionLost")
  }

  @Test func `cancel ends a task in every state`() throws {
    func create(_ resume: Bool) throws -> String {
      let body = #"{"kind":"data","resume":\#(resume),"request":{"url":"\#(origin.url)/silent"}}"#
      return try place.call("POST", "/v1/tasks", body).json["id"]?.string ?? ""
    }
    for resume in [false, true] {
      let id = try create(resume)
      if resume { _ = try place.poll("/v1/tasks/\(id)") { $0["phase"]?.string == "transferring" } }
      let reply = try place.call("POST", "/v1/tasks/\(id)/cancel", #"{"producingResumeData":true}"#)
      #expect(reply.status == 200 && reply.json["resumeData"] == .null)
      let task = try place.poll("/v1/tasks/\(id)") { $0["state"]?.string == "completed" }
      #expect(task["error"]?["code"]?.integer == -999)
      // The end is final.
      #expect(try place.call("POST", "/v1/tasks/\(id)/resume").json["state"]?.string == "completed")
      #expect(try place.call("POST", "/v1/tasks/\(id)/cancel").json["state"]?.string == "completed")
    }
  }

  @Test func `timeouts end a task unless it is suspended`() throws {
    let idle = try place.run(origin.url + "/silent", request: #","timeoutInterval":0.4"#)
    #expect(idle["error"]?["code"]?.integer == -1001)
    let session = try place.session(#"{"timeoutIntervalForResource":0.6}"#)
    #expect(try place.run(origin.url + "/silent", session: session)["error"]?["code"]?.integer == -1001)
    let body =
      #"{"kind":"data","resume":true,"request":{"url":"\#(origin.url)/silent","timeoutInterval":0.6}}"#
    let id = try place.call("POST", "/v1/tasks", body).json["id"]?.string ?? ""
    #expect(try place.call("POST", "/v1/tasks/\(id)/suspend").json["state"]?.string == "suspended")
    #expect(
      try place.run(origin.url + "/silent", request: #","timeoutInterval":1.2"#)["error"]?["code"]?.integer
        == -1001)
    #expect(try place.call("GET", "/v1/tasks/\(id)").json["state"]?.string == "suspended")
    _ = try place.call("POST", "/v1/tasks/\(id)/resume")
    let ended = try place.poll("/v1/tasks/\(id)") { $0["state"]?.string == "completed" }
    #expect(ended["error"]?["code"]?.integer == -1001)
  }

  @Test func `Prefer wait returns the ended or the running task`() throws {
    let running = try place.call(
      "POST", "/v1/tasks", #"{"kind":"data","resume":true,"request":{"url":"\#(origin.url)/silent"}}"#,
      [("Prefer", "wait=0.3")])
    #expect(running.status == 202 && running.json["state"]?.string == "running" && running["Location"] != nil)
    let done = try place.call(
      "POST", "/v1/tasks", #"{"kind":"data","resume":true,"request":{"url":"\#(origin.url)/hello"}}"#,
      [("Prefer", "respond-async, wait=20")])
    #expect(done.status == 200 && done.json["state"]?.string == "completed")
    #expect(done["Preference-Applied"] == "wait=20")
  }
}

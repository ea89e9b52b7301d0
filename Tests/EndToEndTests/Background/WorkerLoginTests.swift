import Foundation
import JSON
import TestSupport
import Testing

/// State that the service and the worker share: decisions and their answers, credentials and cookies.
@Suite(.serialized, .blocking) struct WorkerLoginTests {
  private static let asked = "task.didReceiveChallenge"
  private static let login = "Basic " + Data("alice:secret".utf8).base64EncodedString()

  private let place: BackgroundFixture
  private let origin = TestOrigin { request, socket in
    if request.path.hasPrefix("/closed"), request["Authorization"] != WorkerLoginTests.login {
      try socket.write(
        TestOrigin.reply("401 Unauthorized", [], [("WWW-Authenticate", "Basic realm=\"r\"")]))
    } else {
      let fields = request.path == "/cookie" ? [("Set-Cookie", "given=1; Max-Age=3600")] : []
      try socket.write(TestOrigin.reply("200 OK", Array("open".utf8), fields))
    }
    return true
  }

  init() throws { place = try BackgroundFixture() }

  private func cookies(of session: String) throws -> [String] {
    let items = try place.ferry.call("GET", "/v1/sessions/\(session)/cookies").json["items"]?.elements ?? []
    return items.map { ($0["name"]?.string ?? "") + "=" + ($0["value"]?.string ?? "") }
  }

  /// The service stops between the challenge and the answer, by SIGTERM or SIGKILL.
  @Test(arguments: [SIGKILL, SIGTERM]) func `decision survives the service`(_ signal: Int32) throws {
    let session = try place.session(delegate: #"{"taskChallenges":"ask","delayedRequests":"ask"}"#)
    let id = try place.ferry.create(origin.url + "/closed", session: session)
    let question = try place.ferry.decisionEvent(of: id, Self.asked)
    let worker = try place.worker.wait()
    place.stop(signal)
    try place.start()
    #expect(try place.ferry.decision(question.decision)["state"]?.string == "pending")
    #expect(try place.ferry.task(id)["phase"]?.string == "waitingForDecision")
    let answer =
      #"{"disposition":"useCredential","credential":{"user":"alice","password":"secret","persistence":"forSession"}}"#
    #expect(try place.ferry.answer(question.decision, answer).status == 200)
    let story = try place.ferry.story(of: id)
    #expect(story.count { $0.type == Self.asked } == 1)
    #expect(try place.ferry.task(id)["response"]?["status"]?.integer == 200)
    #expect(place.worker.pid == worker && origin.requests.count == 2)
  }

  @Test func `delayed request becomes a decision after a restart`() throws {
    let session = try place.session(delegate: #"{"delayedRequests":"ask"}"#)
    let date = Date().addingTimeInterval(1).ISO8601Format(.init(includingFractionalSeconds: true))
    let id = try place.ferry.call(
      "POST", "/v1/sessions/\(session)/tasks",
      #"{"kind":"data","resume":true,"earliestBeginDate":"\#(date)","request":{"url":"\#(origin.url)/"}}"#
    ).json.id
    place.stop(SIGKILL)
    usleep(1_200_000)
    try place.start()
    let question = try place.ferry.decisionEvent(of: id, "task.willBeginDelayedRequest")
    #expect(origin.requests.isEmpty)
    #expect(try place.ferry.answer(question.decision, #"{"disposition":"continueLoading"}"#).status == 200)
    #expect(try place.ferry.end(of: id)["error"] == .null && origin.requests.count == 1)
  }

  @Test func `cookies are shared in both directions`() throws {
    let session = try place.session()
    _ = try place.ferry.end(of: place.ferry.create(origin.url + "/cookie", session: session))
    #expect(try cookies(of: session) == ["given=1"])
    let put = try place.ferry.call(
      "PUT", "/v1/sessions/\(session)/cookies", #"{"name":"put","value":"2","url":"\#(origin.url)/"}"#)
    #expect(put.status == 200)
    // The running worker sends both cookies, and so does its successor.
    for dies in [false, true] {
      if dies { #expect(try place.worker.send(SIGKILL)) }
      _ = try place.ferry.end(of: place.ferry.create(origin.url + "/", session: session))
      let sent = origin.requests.last?["Cookie"]?.components(separatedBy: "; ") ?? []
      #expect(sent.sorted() == ["given=1", "put=2"], "dies: \(dies)")
    }
  }

  @Test func `credentials reach the worker`() throws {
    let session = try place.session()
    _ = try place.ferry.end(of: place.ferry.create(origin.url + "/", session: session))
    let space = #"{"host":"127.0.0.1","port":\#(origin.port),"protocol":"http","realm":"r"}"#
    let credential = #"{"user":"alice","password":"secret","persistence":"permanent"}"#
    let put = try place.ferry.call(
      "PUT", "/v1/sessions/\(session)/credentials",
      #"{"protectionSpace":\#(space),"credential":\#(credential)}"#)
    #expect(put.status == 200, "\(put.text)")
    for dies in [false, true] {
      if dies { #expect(try place.worker.send(SIGKILL)) }
      let task = try place.ferry.end(of: place.ferry.create(origin.url + "/closed", session: session))
      #expect(task["response"]?["status"]?.integer == 200, "dies: \(dies)")
    }
  }

  /// A credential with persistence `forSession` survives the next worker and the next service.
  @Test func `credential with persistence forSession stays with the session`() throws {
    let session = try place.session(delegate: #"{"taskChallenges":"ask"}"#)
    let id = try place.ferry.create(origin.url + "/closed", session: session)
    let answer =
      #"{"disposition":"useCredential","credential":{"user":"alice","password":"secret","persistence":"forSession"}}"#
    #expect(
      try place.ferry.answer(place.ferry.decisionEvent(of: id, Self.asked).decision, answer).status == 200)
    _ = try place.ferry.end(of: id)
    func users() throws -> [String?] {
      let items = try place.ferry.call("GET", "/v1/sessions/\(session)/credentials").json["items"]?.elements
      return items?.map { $0["credential"]?["user"]?.string } ?? []
    }
    for restarts in [false, true] {
      #expect(try users() == ["alice"])
      kill(try #require(place.worker.pid), SIGKILL)
      if restarts {
        place.stop(SIGKILL)
        try place.start()
      }
      let next = try place.ferry.create(origin.url + "/closed", session: session)
      let question = try place.ferry.decisionEvent(of: next, Self.asked)
      #expect(question.data["proposedCredential"]?["user"]?.string == "alice")
      let handling = #"{"disposition":"performDefaultHandling"}"#
      #expect(try place.ferry.answer(question.decision, handling).status == 200)
      _ = try place.ferry.end(of: next)
      #expect(try place.ferry.task(next)["response"]?["status"]?.integer == 200)
    }
    _ = try place.ferry.call("POST", "/v1/sessions/\(session)/invalidate", #"{"mode":"cancelTasks"}"#)
    _ = try place.ferry.poll("/v1/sessions/\(session)") { $0["state"]?.string == "invalid" }
    place.stop(SIGKILL)
    try place.start()
    #expect(try users() == [])
  }
}

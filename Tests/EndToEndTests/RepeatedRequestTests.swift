import JSON
import TestSupport
import Testing

/// A connection that was kept is lost with a request on it that was not answered: the origin may have acted on that.
@Suite(.serialized, .blocking) struct RepeatedRequestTests {
  private let origin = TestOrigin { request, socket in
    guard request.path != "/cut" else { return false }
    try socket.write(TestOrigin.reply("200 OK", Array("ok".utf8)))
    return true
  }

  /// RFC 9110 §9.2.2.
  @Test(arguments: [("POST", 1), ("PATCH", 1), ("LINK", 1), ("GET", 2), ("PUT", 2), ("DELETE", 2)])
  func onlyWhatMeansTheSameIsSentTwice(_ method: String, _ count: Int) throws {
    let ferry = try FerryProcess()
    let session = try ferry.session()
    let body = ["POST", "PATCH", "PUT"].contains(method) ? #","body":{"text":"once"}"# : ""
    let request = #","method":"\#(method)"\#(body)"#
    _ = try ferry.run(origin.url + "/kept", kind: "data", session: session, request: request)
    let task = try ferry.run(origin.url + "/cut", kind: "data", session: session, request: request)
    #expect(origin.requests.count { $0.path == "/cut" } == count)
    #expect(task.errorCode == (count == 1 ? -1005 : -1011))
    // Who asks once more gets an answer.
    let again = try ferry.run(origin.url + "/kept", kind: "data", session: session, request: request)
    #expect(again["response"]?["status"]?.integer == 200)
  }

  @Test func aBackgroundTasksAttemptsAreAllCounted() throws {
    let place = try BackgroundPlace()
    let session = try place.session("a", #"{"retry":{"maximumAttempts":2,"backoff":0.1}}"#)
    _ = try place.ferry.end(of: place.upload([1, 2, 3], to: origin.url + "/kept", session: session))
    let file = try place.ferry.call("POST", "/v1/files", "once", [("Content-Type", "text/plain")]).json.id
    let id = try place.ferry.create(
      origin.url + "/cut", kind: "upload", session: session,
      request: #","method":"POST","body":{"file":"\#(file)"}"#)
    let task = try place.ferry.end(of: id)
    #expect(task["error"] != .null && task["retryCount"]?.integer == 1)
    #expect(origin.requests.count { $0.path == "/cut" } == 2)
  }
}

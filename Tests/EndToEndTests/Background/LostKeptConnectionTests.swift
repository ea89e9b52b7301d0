import JSON
import Synchronization
import TestSupport
import Testing

/// The paths that were requested.
private final class Visits: Sendable {
  private let paths = Mutex<Set<String>>([])
  func isFirst(of path: String) -> Bool { paths.withLock { $0.insert(path).inserted } }
}

/// A kept connection is lost while a request on it is unanswered, so the origin may have processed the request.
@Suite(.serialized, .blocking) struct LostKeptConnectionTests {
  private let origin = TestOrigin { request, socket in
    guard request.path != "/cut" else { return false }
    try socket.write(TestOrigin.reply("200 OK", Array("ok".utf8)))
    return true
  }

  /// RFC 9110 §9.2.2.
  @Test(arguments: [("POST", 1), ("PATCH", 1), ("LINK", 1), ("GET", 2), ("PUT", 2), ("DELETE", 2)])
  func `only idempotent requests are repeated`(_ method: String, _ count: Int) throws {
    let ferry = try FerryProcess()
    let session = try ferry.session()
    let body = ["POST", "PATCH", "PUT"].contains(method) ? #","body":{"text":"once"}"# : ""
    let request = #","method":"\#(method)"\#(body)"#
    _ = try ferry.run(origin.url + "/kept", kind: "data", session: session, request: request)
    let task = try ferry.run(origin.url + "/cut", kind: "data", session: session, request: request)
    #expect(origin.requests.count { $0.path == "/cut" } == count)
    #expect(task.errorCode == (count == 1 ? -1005 : -1011))
    // A new task succeeds.
    let again = try ferry.run(origin.url + "/kept", kind: "data", session: session, request: request)
    #expect(again["response"]?["status"]?.integer == 200)
  }

  /// Ferry does not keep a stream's bytes, so it requests the body again, whether or not the whole body was sent.
  @Test(arguments: ["PUT", "POST"], ["/cut-unread", "/cut-read"])
  func `stream on a lost kept connection is requested again`(_ method: String, _ path: String) throws {
    let visits = Visits()
    let origin = TestOrigin(readsBodies: false) { request, socket in
      let isCut = request.path.hasPrefix("/cut") && visits.isFirst(of: request.path)
      if isCut, request.path.hasPrefix("/cut-unread") { return false }
      let body = try TestOrigin.read(bodyOf: request, from: socket)
      if isCut { return false }
      let isExact = body == Pattern.bytes(body.count)
      try socket.write(TestOrigin.reply("200 OK", Array("\(isExact) \(body.count)".utf8)))
      return true
    }
    let ferry = try FerryProcess()
    let session = try ferry.session(delegate: "{}")
    for size in [1000, 300_000] {
      _ = try ferry.run(origin.url + "/kept", kind: "data", session: session)
      let id = try ferry.create(
        "\(origin.url)\(path)/\(size)", kind: "upload", session: session,
        request: #","method":"\#(method)","body":{"stream":true}"#)
      let needsBody = "task.needNewBodyStream"
      let events = try ferry.events("/v1/tasks/\(id)/events?after=0&types=\(needsBody),task.didComplete")
      var bodies = 0
      while let event = try events.next(), event.type == needsBody {
        bodies += 1
        _ = try ferry.put(Pattern.bytes(size), to: id)
      }
      let task = try ferry.task(id)
      #expect(task.errorCode == (method == "PUT" ? nil : -1005), "\(task.text)")
      #expect(bodies == (method == "PUT" ? 2 : 1))
      if method == "PUT" { #expect(try ferry.body(of: id) == Array("true \(size)".utf8)) }
    }
  }

  @Test func `each attempt of a background task counts`() throws {
    let place = try BackgroundFixture()
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

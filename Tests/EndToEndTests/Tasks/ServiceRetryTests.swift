import Foundation
import JSON
import Synchronization
import TestSupport
import Testing

/// Retries of default sessions, over the death of their service.
@Suite(.serialized, .blocking) struct ServiceRetryTests {
  /// Sends the first half of a body and stalls, until a request asks for the rest.
  private static func origin() -> TestOrigin {
    let body = ResumableOrigin.body
    return TestOrigin { request, socket in
      if let first = request["Range"].flatMap({ Int($0.dropFirst(6).dropLast()) }) {
        let range = ("Content-Range", "bytes \(first)-\(body.count - 1)/\(body.count)")
        try socket.write(
          TestOrigin.reply("206 Partial Content", Array(body[first...]), [range, ("ETag", "\"one\"")]))
        return true
      }
      let head =
        "HTTP/1.1 200 OK\r\nContent-Length: \(body.count)\r\nETag: \"one\"\r\nAccept-Ranges: bytes\r\n\r\n"
      try socket.write(Array(head.utf8) + body[..<300_000])
      _ = try? socket.readSome()
      return false
    }
  }

  @Test(arguments: [SIGKILL, SIGTERM]) func `restarted service continues the task`(_ signal: Int32) throws {
    let place = try BackgroundFixture()
    let origin = Self.origin()
    let session = try place.ferry.session()
    let body = #"""
      {"kind":"download","resume":true,"request":{"url":"\#(origin.url)"},"retry":{"backoff":0.01},"expected":{"size":600000}}
      """#
    let id = try place.ferry.call("POST", "/v1/sessions/\(session)/tasks", body).json.id
    let half = try place.ferry.poll("/v1/tasks/\(id)") { $0.received >= 300_000 }
    #expect(half["state"]?.string == "running" && half["response"] == .null)
    place.stop(signal)
    try place.start()
    let task = try place.ferry.end(of: id)
    #expect(task["error"] == .null && task.status == 206)
    #expect(task["retryCount"]?.integer == 1)
    #expect(try place.ferry.body(of: id) == ResumableOrigin.body)
  }

  @Test func `fifth death of the service ends the task`() throws {
    let place = try BackgroundFixture()
    // The origin does not respond.
    let origin = TestOrigin { _, socket in
      _ = try? socket.readSome()
      return false
    }
    let body = #"{"kind":"data","resume":true,"request":{"url":"\#(origin.url)"},"retry":{"backoff":0.01}}"#
    let id = try place.ferry.call("POST", "/v1/tasks", body).json.id
    for deaths in 1...5 {
      let task = try place.ferry.poll("/v1/tasks/\(id)") { _ in origin.requests.count == deaths }
      #expect(task["state"]?.string == "running" && task["retryCount"]?.integer == Int64(deaths - 1))
      place.stop(SIGKILL)
      try place.start()
    }
    let error = try place.ferry.end(of: id)["error"]
    #expect(error?["domain"]?.string == "FerryErrorDomain")
    #expect(error?["name"]?.string == "attemptLimitReached")
    place.stop(SIGKILL)
    try place.start()
    #expect(try place.ferry.task(id)["error"] == error && origin.requests.count == 5)
  }

  @Test func `waiting task survives the service`() throws {
    let place = try BackgroundFixture()
    let origin = FailingOrigin("503 Busy", "2", times: 1)
    let body = #"{"kind":"data","resume":true,"request":{"url":"\#(origin.url)"},"retry":{}}"#
    let id = try place.ferry.call("POST", "/v1/tasks", body).json.id
    let waiting = try place.ferry.poll("/v1/tasks/\(id)") { $0["phase"]?.string == "waitingToRetry" }
    #expect(waiting["lastError"]?["status"]?.integer == 503)
    // The event follows the commit of the waiting time.
    let events = try place.ferry.events("/v1/tasks/\(id)/events?after=0&types=task.didChangeState")
    while let event = try events.next(), event.data["phase"]?.string != "waitingToRetry" {}
    place.stop(SIGKILL)
    try place.start()
    let task = try place.ferry.end(of: id)
    #expect(task["error"] == .null && task.status == 200 && task["retryCount"]?.integer == 1)
    #expect(origin.count == 2 && origin.pauses.allSatisfy { $0 >= 1.9 })
  }

  @Test func `retry starts waiting attempts now and repeats failed tasks`() throws {
    let place = try BackgroundFixture()
    for session in try [place.ferry.session(), place.session("a")] {
      let origin = FailingOrigin("503 Busy", nil, times: 1)
      let body =
        #"{"kind":"download","resume":true,"request":{"url":"\#(origin.url)"},"retry":{"backoff":600}}"#
      let id = try place.ferry.call("POST", "/v1/sessions/\(session)/tasks", body).json.id
      _ = try place.ferry.poll("/v1/tasks/\(id)") { $0["phase"]?.string == "waitingToRetry" }
      #expect(try place.ferry.call("POST", "/v1/tasks/\(id)/retry").status == 200)
      #expect(try place.ferry.end(of: id)["error"] == .null && origin.count == 2)
      let failed = try place.ferry.create("http://10.0.0.1/", kind: "download", session: session)
      #expect(try place.ferry.end(of: failed).errorCode == 1)
      let again = try place.ferry.call("POST", "/v1/tasks/\(failed)/retry")
      #expect(again.status == 201 && again.json["retryOf"]?.string == failed)
      #expect(try place.ferry.end(of: again.json.id).errorCode == 1)
    }
  }
}

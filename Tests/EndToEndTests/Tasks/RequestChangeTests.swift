import Foundation
import JSON
import Synchronization
import TestSupport
import Testing

/// Downloads whose signed link expires. The client changes the link, and the bytes are kept.
@Suite(.serialized, .blocking) struct RequestChangeTests {
  private static let half = 300_000

  /// An origin whose first link gives half of a body, once. All later requests for that link get 403.
  private final class SignedOrigin {
    private final class Uses: Sendable {
      let count = Mutex(0)
    }
    let origin: TestOrigin

    /// - Parameter cuts: whether the connection ends after the first half. Otherwise it stalls.
    init(cuts: Bool) {
      let uses = Uses()
      let body = ResumableOrigin.body
      origin = TestOrigin { request, socket in
        guard request.path == "/file?signature=1" else {
          guard let first = request["Range"].flatMap({ Int($0.dropFirst(6).dropLast()) }) else {
            try socket.write(TestOrigin.reply("200 OK", body, [("ETag", "\"one\"")]))
            return true
          }
          let range = ("Content-Range", "bytes \(first)-\(body.count - 1)/\(body.count)")
          try socket.write(
            TestOrigin.reply("206 Partial Content", Array(body[first...]), [range, ("ETag", "\"one\"")]))
          return true
        }
        let count = uses.count.withLock { count in
          count += 1
          return count
        }
        guard count == 1 else {
          try socket.write(TestOrigin.reply("403 Forbidden", Array("expired".utf8)))
          return true
        }
        let head =
          "HTTP/1.1 200 OK\r\nContent-Length: \(body.count)\r\nETag: \"one\"\r\nAccept-Ranges: bytes\r\n\r\n"
        try socket.write(Array(head.utf8) + body[..<RequestChangeTests.half])
        if !cuts { _ = try? socket.readSome() }
        return false
      }
    }

    var expired: String { origin.url + "/file?signature=1" }
    var renewed: String { origin.url + "/file?signature=2" }

    /// Expects that the last request asked for the rest with the renewed link.
    func expectRest(from offset: Int?) throws {
      let request = try #require(origin.requests.last)
      #expect(request.path == "/file?signature=2" && request["If-Range"] == "\"one\"")
      if let offset { #expect(request["Range"] == "bytes=\(offset)-") }
      #expect(request["Range"] != nil && request["Range"] != "bytes=0-")
    }
  }

  private static func change(_ id: String, to url: String, at ferry: FerryProcess) throws {
    let reply = try ferry.call("PATCH", "/v1/tasks/\(id)", #"{"request":{"url":"\#(url)"}}"#)
    #expect(reply.status == 200 && reply.json["currentRequest"]?["url"]?.string == url, "\(reply.text)")
  }

  @Test(arguments: [nil, SIGKILL, SIGTERM] as [Int32?])
  func `suspended download continues with another link`(_ signal: Int32?) throws {
    let place = try BackgroundFixture()
    let signed = SignedOrigin(cuts: false)
    let session = try place.ferry.session()
    let id = try place.ferry.create(signed.expired, kind: "download", session: session)
    _ = try place.ferry.poll("/v1/tasks/\(id)") { $0.received >= Int64(Self.half) }
    #expect(try place.ferry.act("suspend", id) == "suspended")
    try Self.change(id, to: signed.renewed, at: place.ferry)
    if let signal {
      place.stop(signal)
      try place.start()
    }
    let task = try place.ferry.task(id)
    #expect(task["currentRequest"]?["url"]?.string == signed.renewed)
    #expect(task["originalRequest"]?["url"]?.string == signed.expired)
    #expect(try place.ferry.act("resume", id) == "running")
    let end = try place.ferry.end(of: id)
    #expect(end["error"] == .null && end.status == 206, "\(end)")
    #expect(try place.ferry.body(of: id) == ResumableOrigin.body)
    try signed.expectRest(from: signal == SIGKILL ? nil : Self.half)
  }

  @Test func `change by one service is used by another`() throws {
    let directory = TemporaryDirectory.make("ferry-changed")
    defer { try? FileManager.default.removeItem(atPath: directory) }
    let signed = SignedOrigin(cuts: false)
    let (first, second) = (
      try FerryProcess(directory: directory), try FerryProcess(directory: directory)
    )
    #expect(first.hasLogged("a service has joined"))
    let session = try first.session()
    let id = try first.create(signed.expired, kind: "download", session: session)
    _ = try first.poll("/v1/tasks/\(id)") { $0.received >= Int64(Self.half) }
    #expect(try second.act("suspend", id) == "suspended")
    try Self.change(id, to: signed.renewed, at: second)
    first.leavesWorker = true
    first.kill()
    _ = try second.poll("/v1/tasks/\(id)") { $0["currentRequest"]?["url"]?.string == signed.renewed }
    #expect(try second.act("resume", id) == "running")
    let end = try second.end(of: id)
    #expect(end["error"] == .null && end.status == 206, "\(end)")
    #expect(try second.body(of: id) == ResumableOrigin.body)
    try signed.expectRest(from: nil)
  }

  @Test func `waiting download continues with another link, in the service and the worker`() throws {
    let place = try BackgroundFixture()
    for session in try [place.ferry.session(), place.session("a")] {
      let signed = SignedOrigin(cuts: true)
      let body =
        #"{"kind":"download","resume":true,"request":{"url":"\#(signed.expired)"},"retry":{"backoff":600,"statuses":[403]}}"#
      let id = try place.ferry.call("POST", "/v1/sessions/\(session)/tasks", body).json.id
      _ = try place.ferry.poll("/v1/tasks/\(id)") { $0["phase"]?.string == "waitingToRetry" }
      #expect(try place.ferry.call("POST", "/v1/tasks/\(id)/retry").status == 200)
      _ = try place.ferry.poll("/v1/tasks/\(id)") { $0["lastError"]?["status"]?.integer == 403 }
      try Self.change(id, to: signed.renewed, at: place.ferry)
      place.stop(SIGKILL)
      try place.start()
      #expect(try place.ferry.call("POST", "/v1/tasks/\(id)/retry").status == 200)
      let end = try place.ferry.end(of: id)
      #expect(end["error"] == .null && end.status == 206, "\(end)")
      #expect(try place.ferry.body(of: id) == ResumableOrigin.body)
      try signed.expectRest(from: Self.half)
    }
  }
}

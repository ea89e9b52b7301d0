import Foundation
import JSON
import Synchronization
import TestSupport
import Testing

/// The replies of a service that is draining.
@Suite(.serialized, .blocking) struct DrainTests {
  /// Sends a byte every 100 ms, without end.
  private let origin = TestOrigin { _, socket in
    try socket.write(Array("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n".utf8))
    while true {
      try socket.write(Array("1\r\na\r\n".utf8))
      usleep(100_000)
    }
  }

  private func task(_ kind: String) -> String {
    #"{"kind":"\#(kind)","resume":true,"request":{"url":"\#(origin.url)/"}}"#
  }

  /// A body stream ends with the service, visibly incomplete. New requests are refused with `draining`, and a waiting
  /// client receives the task's state.
  @Test func `each client of a draining service receives a reply`() throws {
    let ferry = try FerryProcess()
    let (waited, body, port) = (Reply<HTTPReply>(), Reply<[UInt8]>(), ferry.port)
    let created = task("data")
    let id = try ferry.call("POST", "/v1/tasks", created).json.id
    Foundation.Thread.detachNewThread {
      let fields = [("Prefer", Patience.preference), ("Content-Type", "application/json")]
      waited.set(try? HTTPClient(port: port).send("POST", "/v1/tasks", Array(created.utf8), fields))
    }
    Foundation.Thread.detachNewThread {
      guard let socket = try? Socket(connectingTo: port) else { return body.set([]) }
      let head = "GET /v1/tasks/\(id)/body HTTP/1.1\r\nHost: localhost:\(port)\r\n\r\n"
      try? socket.write(Array(head.utf8))
      var bytes: [UInt8] = []
      while let some = try? socket.readSome(), !some.isEmpty { bytes += some }
      body.set(bytes)
    }
    _ = try ferry.poll("/v1/sessions/ses_shared/tasks") { list in
      let phases = (list["items"]?.elements ?? []).map { $0["phase"]?.string }
      return phases == ["transferring", "transferring"]
    }
    ferry.signal(SIGTERM)
    let reply = try #require(waited.get())
    #expect(reply.status == 202 && reply.json["state"]?.string == "running")
    #expect(reply["Location"] == "/v1/tasks/" + reply.json.id)
    for (method, target, text) in [("GET", "/readyz", nil), ("POST", "/v1/tasks", created)] {
      let refused = try ferry.call(method, target, text)
      #expect(refused.status == 503 && refused.json["type"]?.string == "/problems/draining", "\(target)")
      #expect(refused["Connection"] == "close", "\(target)")
    }
    #expect(try ferry.call("GET", "/v1/tasks/" + id).status == 200)
    let bytes = try #require(body.get())
    #expect(String(decoding: bytes, as: UTF8.self).hasPrefix("HTTP/1.1 200"))
    #expect(bytes.count > 100 && !bytes.ends(with: "0\r\n\r\n".utf8))
    #expect(ferry.terminate() == 0)
    #expect(ferry.hasLogged(#""message":"request refused""#, times: 2))
    let lines = String(decoding: ferry.log, as: UTF8.self).split(separator: "\n")
    let refusals = lines.filter { $0.contains(#""message":"request refused""#) }
    #expect(refusals.count == 2 && refusals.allSatisfy { $0.contains(#""level":"info""#) })
    #expect(refusals.allSatisfy { $0.lowercased().contains(#""error":"the service is stopping""#) })
    #expect(!lines.contains { $0.contains(#""level":"error""#) })
  }
}

/// A value that another thread delivers.
private final class Reply<Value: Sendable>: Sendable {
  private let gate = Gate()
  private let value = Mutex<Value?>(nil)

  func set(_ value: Value?) {
    self.value.withLock { $0 = value }
    gate.open()
  }

  func get() -> Value? {
    gate.wait()
    return value.withLock { $0 }
  }
}

extension [UInt8] {
  fileprivate func ends(with suffix: String.UTF8View) -> Bool {
    self.suffix(suffix.count).elementsEqual(suffix)
  }
}

import FerryClient
import Synchronization
import TestSupport
import Testing

@Suite(.blocking, .endsInTime) struct ServiceEventsTests {
  /// Serves one text of an event stream, or a whole response, for each request.
  private static func origin(_ texts: [String]) -> TestOrigin {
    let left = Mutex(texts[...])
    return TestOrigin { _, socket in
      let text = left.withLock { $0.popFirst() } ?? "HTTP/1.1 410 Gone\r\nContent-Length: 0\r\n\r\n"
      let head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n"
      try socket.write(Array((text.hasPrefix("HTTP/") ? text : head + text).utf8))
      return text.hasPrefix("HTTP/")
    }
  }

  @Test func `stream continues after the last event until the service refuses it`() async throws {
    let pauses = Mutex<[Duration]>([])
    let origin = Self.origin([
      "id: 1\nevent: a\ndata: x\n\nevent: progress\ndata: p\n\n",
      "HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n\r\n",
      "id: 5\nevent: events.didReset\ndata: {}\n\nid: 6\nevent: b\ndata: y\n\n",
    ])
    let connection = ServiceConnection(try ServiceAddress(origin.url))
    let events = connection.events(ServiceRequest("GET", "/v1/events")) { pause in
      pauses.withLock { $0.append(pause) }
    }
    var seen: [String] = []
    let error = await #expect(throws: ServiceError.self) {
      for try await element in events {
        switch element {
        case .connected: seen.append("connected")
        case .disconnected: seen.append("disconnected")
        case .didReset: seen.append("reset")
        case .event(let event): seen.append("\(event.type) \(event.id ?? "-")")
        }
      }
    }
    guard case .problem(let problem) = error else {
      Issue.record("\(error as Any)")
      return
    }
    #expect(problem.status == 410)
    #expect(
      seen == [
        "connected", "a 1", "progress -", "disconnected", "disconnected", "connected", "reset", "b 6",
        "disconnected",
      ])
    #expect(origin.requests.map { $0["Last-Event-ID"] } == [nil, "1", "1", "6"])
    #expect(pauses.withLock { $0 } == [.milliseconds(250), .milliseconds(500), .milliseconds(250)])
    await connection.close()
  }
}

import Glibc
import JSON
import TestSupport
import Testing

/// The two timeouts: every byte restarts `timeoutIntervalForRequest`, and nothing restarts
/// `timeoutIntervalForResource`.
@Suite(.serialized, .blocking, .sharing) struct TimeoutTests {
  private let place: InProcessAPI
  private let origin = TestOrigin { request, socket in
    switch request.path {
    case "/trickle":
      try socket.write("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n")
      for _ in 0..<10 {
        usleep(200_000)
        try socket.write("x")
      }
    case "/endless":
      try socket.write("HTTP/1.1 200 OK\r\n\r\n")
      for _ in 0..<600 {
        usleep(50_000)
        try socket.write("x")
      }
    case "/slowHead":
      for byte in "HTTP/1.1 200 OK\r\nX: y\r\nContent-Length: 2\r\n\r\nok".utf8 {
        usleep(30_000)
        try socket.write([byte])
      }
    case "/stalls":
      try socket.write("HTTP/1.1 200 OK\r\nContent-Length: 90000\r\n\r\n")
      try socket.write([UInt8](repeating: 1, count: 50_000))
      return try socket.readSome() != nil
    default: return try socket.readSome() != nil
    }
    return true
  }

  init() throws { place = try .ofSuite() }

  /// Starts a task of each kind, so that both wait at the same time.
  private func tasks(_ path: String, session: String = "ses_shared", request: String = "") throws -> [String]
  {
    try ["data", "download"].map {
      try place.create(origin.url + path, kind: $0, session: session, request: request)
    }
  }

  @Test func `every byte restarts the request timeout`() throws {
    for id in try tasks("/trickle", request: #","timeoutInterval":1.6"#) {
      let task = try place.end(of: id)
      #expect(task["error"] == .null && task["body"]?["size"]?.integer == 10)
    }
  }

  @Test func `no byte restarts the resource timeout`() throws {
    let session = try place.session(#"{"timeoutIntervalForResource":0.8}"#)
    for id in try tasks("/endless", session: session) {
      let task = try place.end(of: id)
      #expect(task.errorCode == -1001)
      #expect(task["error"]?["message"]?.string?.contains("timeoutIntervalForResource") == true)
      #expect(task["error"]?["failingURL"]?.string == origin.url + "/endless")
      #expect(task["response"]?["status"]?.integer == 200 && task["body"] == .null)
      #expect((task["progress"]?["countOfBytesReceived"]?.integer ?? 0) > 0)
    }
  }

  @Test(arguments: ["/silent", "/stalls"]) func `silent origin times out`(_ path: String) throws {
    for id in try tasks(path, request: #","timeoutInterval":0.8"#) {
      let types = try place.story(of: id).map(\.type)
      #expect(types.suffix(2) == ["task.didFinishCollectingMetrics", "task.didComplete"])
      #expect(!types.contains("downloadTask.didFinishDownloading"))
      let task = try place.task(id)
      #expect(task.errorCode == -1001 && task["error"]?["name"]?.string == "timedOut")
      #expect(task["error"]?["underlying"]?["code"]?.integer == 28)  // CURLE_OPERATION_TIMEDOUT
      #expect(task["body"] == .null && (task["response"] == .null) == (path == "/silent"))
    }
  }

  /// Each line of the head counts as received bytes.
  @Test func `slow head does not time out`() throws {
    #expect(try place.run(origin.url + "/slowHead", request: #","timeoutInterval":1.2"#)["error"] == .null)
  }

  /// The timeouts of a queued task have not started.
  @Test func `queued task does not time out`() throws {
    let session = try place.session(
      #"{"httpMaximumConnectionsPerHost":1,"timeoutIntervalForRequest":1.6,"timeoutIntervalForResource":30}"#)
    let first = try place.create(origin.url + "/trickle", session: session)
    let second = try place.create(origin.url + "/trickle", session: session)
    for id in [first, second] { #expect(try place.end(of: id)["error"] == .null) }
  }
}

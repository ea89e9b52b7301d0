import Foundation
import JSON
import TestSupport
import Testing

/// `prefersIncrementalDelivery`, `countOfBytesClientExpectsToSend` and `countOfBytesClientExpectsToReceive` of
/// `URLSessionTask`.
@Suite(.serialized, .blocking, .sharing) struct DeliveryTests {
  private static let body = NginxServer.contents(3_000_000)
  private static let half = 1_500_000
  private let ferry: FerryProcess
  private let gate: Gate
  private let origin: TestOrigin

  init() throws {
    ferry = try .ofSuite()
    let gate = Gate()
    self.gate = gate
    origin = TestOrigin { request, socket in
      switch request.path {
      case "/held", "/cut":
        try socket.write("HTTP/1.1 200 OK\r\nContent-Length: \(Self.body.count)\r\n\r\n")
        try socket.write(Array(Self.body.prefix(Self.half)))
        gate.wait()
        if request.path == "/cut" { return false }
        try socket.write(Array(Self.body.dropFirst(Self.half)))
      default:
        // The body has no declared length.
        try socket.write("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3e8\r\n")
        try socket.write(Array(Self.body.prefix(1000)))
        gate.wait()
        try socket.write("\r\n0\r\n\r\n")
      }
      return true
    }
  }

  private func create(_ path: String, _ members: String, in session: String) throws -> String {
    let body = #"{"kind":"data","resume":true,"request":{"url":"\#(origin.url + path)"},\#(members)}"#
    return try ferry.call("POST", "/v1/sessions/\(session)/tasks", body).json.id
  }

  private func waitForHalf(of id: String) throws {
    let task = try ferry.poll("/v1/tasks/\(id)") {
      $0["progress"]?["countOfBytesReceived"]?.integer == Int64(Self.half)
    }
    #expect(task["state"]?.string == "running")
  }

  /// Returns the data of a task's events, their count, and the events before the first of them.
  private func data(_ events: [EventReader.Event], of id: String) -> (
    bytes: [UInt8], count: Int, before: [String]
  ) {
    let all = events.filter { $0.type == "dataTask.didReceiveData" && $0.task == id }
    let bytes = all.flatMap { $0.data["data"]?.string.flatMap { Data(base64Encoded: $0) } ?? Data() }
    let before = events.prefix { $0.type != "dataTask.didReceiveData" }.map { "\($0.task ?? "") \($0.type)" }
    return (bytes, all.count, before)
  }

  /// - Parameter query: selects a stream with bytes or one with counts.
  @Test(arguments: ["?data=inline", ""]) func `body is delivered once whole`(_ query: String) throws {
    let session = try ferry.session(FerryProcess.uncached)
    let events = try ferry.events("/v1/sessions/\(session)/events\(query)")
    let id = try create("/held", #""prefersIncrementalDelivery":false"#, in: session)
    try waitForHalf(of: id)
    let early = try ferry.call("GET", "/v1/tasks/\(id)/body")
    #expect(early.status == 409 && early.json["type"]?.string == "/problems/body-not-ready")
    // A marker in the stream: events of the first half would precede it.
    let sign = try ferry.create(origin.url + "/sign", session: session, resume: false)
    gate.open()
    let all = try events.read(upTo: "task.didComplete")
    let (bytes, count, before) = data(all, of: id)
    #expect(before.contains("\(sign) task.didCreate") && before.contains("\(id) dataTask.didReceiveResponse"))
    if query.isEmpty {
      let event = all.first { $0.type == "dataTask.didReceiveData" }
      #expect(count == 1 && event?.data["bytesReceived"]?.integer == Int64(Self.body.count))
    } else {
      #expect(bytes == Self.body)
    }
    #expect(try ferry.task(id)["prefersIncrementalDelivery"]?.bool == false)
    #expect(try ferry.call("GET", "/v1/tasks/\(id)/body").body == Self.body)
  }

  /// An incomplete body is not delivered at all.
  @Test(arguments: ["?data=inline", ""]) func `incomplete body is not delivered`(_ query: String) throws {
    let session = try ferry.session(FerryProcess.uncached)
    let events = try ferry.events("/v1/sessions/\(session)/events\(query)")
    let id = try create("/cut", #""prefersIncrementalDelivery":false"#, in: session)
    try waitForHalf(of: id)
    gate.open()
    #expect(data(try events.read(upTo: "task.didComplete"), of: id).count == 0)
    #expect(try ferry.task(id).errorCode == -1005)
  }

  @Test func `body is delivered incrementally by default`() throws {
    let session = try ferry.session(FerryProcess.uncached)
    let events = try ferry.events("/v1/sessions/\(session)/events?data=inline")
    let id = try create("/held", #""prefersIncrementalDelivery":true"#, in: session)
    #expect(try events.read(upTo: "dataTask.didReceiveData").last?.task == id)
    gate.open()
    #expect(try ferry.end(of: id)["error"] == .null)
  }

  @Test func `expected sizes are kept and used`() throws {
    let session = try ferry.session(FerryProcess.uncached)
    let id = try create(
      "/unknown", #""countOfBytesClientExpectsToReceive":4000,"countOfBytesClientExpectsToSend":5"#,
      in: session)
    let task = try ferry.poll("/v1/tasks/\(id)") {
      $0["progress"]?["countOfBytesReceived"]?.integer == 1000
    }
    #expect(task["countOfBytesClientExpectsToReceive"]?.integer == 4000)
    #expect(task["countOfBytesClientExpectsToSend"]?.integer == 5)
    #expect(task["progress"]?["countOfBytesExpectedToReceive"]?.integer == -1)
    #expect(task["progress"]?["fractionCompleted"]?.double == 0.25)
    func patch(_ value: String) throws -> JSONValue {
      try ferry.call(
        "PATCH", "/v1/tasks/\(id)", #"{"countOfBytesClientExpectsToReceive":\#(value)}"#,
        [("Content-Type", "application/merge-patch+json")]
      ).json
    }
    #expect(try patch("2000")["progress"]?["fractionCompleted"]?.double == 0.5)
    // More bytes have arrived than expected.
    #expect(try patch("999")["progress"]?["fractionCompleted"] == .null)
    #expect(try patch("null")["countOfBytesClientExpectsToReceive"]?.integer == -1)
    #expect(try patch("1500")["countOfBytesClientExpectsToReceive"]?.integer == 1500)
    gate.open()
    #expect(try ferry.end(of: id)["progress"]?["fractionCompleted"]?.double == 1)
    #expect(try ferry.task(id)["countOfBytesClientExpectsToReceive"]?.integer == 1500)
  }
}

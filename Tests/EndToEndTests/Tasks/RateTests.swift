import Foundation
import JSON
import TestSupport
import Testing

/// `maximumBytesPerSecond`, which Foundation does not have.
@Suite(.serialized, .blocking, .sharing) struct RateTests {
  private let ferry: FerryProcess
  private static let megabyte = NginxServer.contents(1_000_000)
  private let origin = TestOrigin { request, socket in
    switch request.path {
    case "/upload": try socket.write(TestOrigin.reply("200 OK", Array("\(request.body.count)".utf8)))
    default:
      let size = Int(request.path.dropFirst()) ?? 0
      try socket.write(TestOrigin.reply("200 OK", Array(Self.megabyte.prefix(size))))
    }
    return true
  }

  /// The longest duration of a task in seconds, on a machine that is busy with other tests. `TokenBucketTests` check
  /// the exact rate without a real clock.
  private static let patience = 45.0

  init() throws { ferry = try .ofSuite() }

  /// Creates a task.
  /// - Parameter request: further members of the request, after a comma.
  private func create(
    _ path: String, rate: Int?, kind: String = "download", session: String = "ses_shared",
    request: String = ""
  ) throws -> String {
    let limit = rate.map { #","maximumBytesPerSecond":\#($0)"# } ?? ""
    let body =
      #"{"kind":"\#(kind)","resume":true\#(limit),"request":{"url":"\#(origin.url)\#(path)"\#(request)}}"#
    return try ferry.call("POST", "/v1/sessions/\(session)/tasks", body).json.id
  }

  /// Returns the task's duration in seconds, by the service's clock.
  private func duration(of id: String) throws -> Double {
    #expect(try ferry.end(of: id)["error"] == .null)
    return try #require(try ferry.metrics(of: id)["taskInterval"]?["duration"]?.double)
  }

  @Test(arguments: ["data", "download"]) func `task keeps its rate`(_ kind: String) throws {
    let id = try create("/1000000", rate: 500_000, kind: kind)
    #expect((1.5...Self.patience).contains(try duration(of: id)))
    #expect(try ferry.body(of: id) == Self.megabyte)
  }

  @Test func `upload keeps its rate`() throws {
    let body = #","method":"PUT","body":{"text":"\#(String(repeating: "x", count: 1_000_000))"}"#
    let id = try create("/upload", rate: 500_000, kind: "upload", request: body)
    #expect((1.5...Self.patience).contains(try duration(of: id)))
    #expect(try ferry.body(of: id) == Array("1000000".utf8))
  }

  /// The rate applies to the session's tasks together.
  @Test func `session keeps its rate`() throws {
    let session = try ferry.session(#"{"maximumBytesPerSecond":10000}"#)
    let ids = try (0..<4).map { _ in try create("/10000", rate: nil, session: session) }
    let longest = try ids.map(duration).max() ?? 0
    #expect((1.8...Self.patience).contains(longest))
    // Another session's task is not limited. At this rate it would take a hundred seconds.
    #expect(try duration(of: create("/1000000", rate: nil)) < Self.patience)
  }

  @Test func `lower limit applies`() throws {
    let session = try ferry.session(#"{"maximumBytesPerSecond":10000000}"#)
    let id = try create("/1000000", rate: 500_000, session: session)
    #expect((1.5...Self.patience).contains(try duration(of: id)))
  }

  /// At the first rate the download would take minutes.
  @Test func `removed limit stops applying`() throws {
    let id = try create("/1000000", rate: 5000)
    _ = try ferry.poll("/v1/tasks/\(id)") { $0.received > 0 }
    #expect(try ferry.task(id)["state"]?.string == "running")
    let reply = try ferry.call("PATCH", "/v1/tasks/\(id)", #"{"maximumBytesPerSecond":null}"#)
    #expect(reply.status == 200 && reply.json["maximumBytesPerSecond"]?.isNull ?? true)
    #expect(try duration(of: id) < Self.patience)
    #expect(try ferry.body(of: id) == Self.megabyte)
  }

  @Test func `limit may be set while the task runs`() throws {
    let id = try create("/1000000", rate: 5000)
    _ = try ferry.poll("/v1/tasks/\(id)") { $0.received > 0 }
    _ = try ferry.call("PATCH", "/v1/tasks/\(id)", #"{"maximumBytesPerSecond":500000}"#)
    #expect((1.4...Self.patience).contains(try duration(of: id)))
  }

  /// No bytes move for longer than `timeoutInterval`, but because of the rate and not of the origin.
  @Test func `rate limit does not cause a timeout`() throws {
    let down = try create("/40000", rate: 10_000, request: #","timeoutInterval":1"#)
    let text = String(repeating: "x", count: 40_000)
    let up = try create(
      "/upload", rate: 10_000, kind: "upload", request: #","timeoutInterval":1,"body":{"text":"\#(text)"}"#)
    #expect(try duration(of: down) > 1.2)
    #expect(try duration(of: up) > 1.2)
  }

  @Test(arguments: ["0", "-1", "1.5", "\"fast\"", "1000000000001"])
  func `invalid rate is refused`(_ rate: String) throws {
    let task = #"{"kind":"data","maximumBytesPerSecond":\#(rate),"request":{"url":"\#(origin.url)/1"}}"#
    let session = #"{"configuration":{"maximumBytesPerSecond":\#(rate)}}"#
    let replies = try [ferry.call("POST", "/v1/tasks", task), ferry.call("POST", "/v1/sessions", session)]
    for reply in replies { #expect(reply.status == 400 && reply.text.contains("maximumBytesPerSecond")) }
  }
}

package import JSON
import Synchronization
import Testing
import Testing

/// An origin with a single resource that supports ranges, and that can stop in the middle of a body.
package final class ResumableOrigin: Sendable {
  /// The response to a request for a range.
  package enum RangeReply: Sendable {
    case rest, whole, otherVersion, otherStart, notSatisfiable, missing, nothing
  }
  package struct Behaviour: Sendable {
    package var validators = [("ETag", "\"one\"")]
    package var fields = [("Accept-Ranges", "bytes")]
    package var body = ResumableOrigin.body
    /// The offset at which the body stops. The connection then stalls, or ends if `cuts` is set.
    package var stop: Int?
    package var cuts = false
    package var rangeReply = RangeReply.rest
  }
  private final class State: Sendable { let conduct = Mutex(Behaviour()) }

  package static let body = NginxServer.contents(600_000)
  package static let otherBody = [UInt8](body.reversed())
  private let state = State()
  private let origin: TestOrigin

  package init() {
    origin = TestOrigin { [state] request, socket in
      try Self.answer(state.conduct.withLock { $0 }, request, socket)
    }
  }

  package var url: String { origin.url }
  package var requests: [TestOrigin.Request] { origin.requests }

  package func change(_ change: @Sendable (inout Behaviour) -> Void) {
    state.conduct.withLock { change(&$0) }
  }

  private static func answer(
    _ conduct: Behaviour, _ request: TestOrigin.Request, _ socket: Socket
  ) throws -> Bool {
    var first = 0
    var validators = conduct.validators
    if let wanted = request["Range"].flatMap({ Int($0.dropFirst(6).dropLast()) }) {
      switch conduct.rangeReply {
      case .rest:
        if conduct.validators.contains(where: { $0.1 == request["If-Range"] }) { first = wanted }
      case .whole: break
      case .otherVersion:
        first = wanted
        validators = [("ETag", "\"two\"")]
      case .otherStart: first = wanted - 1
      case .notSatisfiable:
        try socket.write(TestOrigin.reply("416 Range Not Satisfiable", Array("no".utf8)))
        return true
      case .missing:
        try socket.write(TestOrigin.reply("404 Not Found", Array("a page".utf8)))
        return true
      case .nothing: return false
      }
    }
    let count = conduct.body.count
    var head =
      "HTTP/1.1 \(first > 0 ? "206 Partial Content" : "200 OK")\r\nContent-Length: \(count - first)\r\n"
    if first > 0 { head += "Content-Range: bytes \(first)-\(count - 1)/\(count)\r\n" }
    for (name, value) in validators + conduct.fields { head += "\(name): \(value)\r\n" }
    try socket.write(head + "\r\n")
    try socket.write(Array(conduct.body[first..<(conduct.stop ?? count)]))
    if conduct.stop != nil, !conduct.cuts { _ = try socket.readSome() }
    return conduct.stop == nil
  }
}

/// Calls for resume data.
extension FerryAPI {
  /// Creates a task and waits until it has received exactly `count` bytes.
  package func stalled(_ url: String, at count: Int, kind: String = "download", request: String = "") throws
    -> String
  {
    let id = try create(url, kind: kind, request: request)
    let task = try poll("/v1/tasks/\(id)") { $0.received >= Int64(count) }
    #expect(task.received == Int64(count))
    return id
  }

  /// Cancels a task and returns its resume data.
  package func cancelProducingResumeData(_ id: String) throws -> JSONValue {
    let reply = try call("POST", "/v1/tasks/\(id)/cancel", #"{"producingResumeData":true}"#)
    #expect(reply.status == 200)
    return reply.json["resumeData"] ?? .null
  }

  package func resumeData(of id: String) throws -> String? {
    try call("GET", "/v1/tasks/\(id)/resume-data").json["resumeData"]?.string
  }

  /// Starts a download from resume data and returns the ended task.
  package func download(resuming data: String) throws -> JSONValue {
    let body = #"{"kind":"download","resume":true,"resumeData":"\#(data)"}"#
    return try call("POST", "/v1/tasks", body, [("Prefer", Patience.preference)]).json
  }

  /// Returns the offset and the expected total of each `downloadTask.didResumeAtOffset`.
  package func offsets(of id: String) throws -> [[Int64?]] {
    try story(of: id).filter { $0.type == "downloadTask.didResumeAtOffset" }
      .map { [$0.data["fileOffset"]?.integer, $0.data["expectedTotalBytes"]?.integer] }
  }
}

import Foundation
package import JSON
import Synchronization
package import Testing

/// A server of resumable uploads (draft-ietf-httpbis-resumable-upload, interop version 8) that closes connections at
/// chosen offsets.
package final class ResumableUploadOrigin: Sendable {
  package struct State {
    /// The received bytes of the upload.
    package var bytes: [UInt8] = []
    /// For each of the next requests, the number of body bytes after which the connection is closed.
    package var breaks: [Int] = []
    /// Whether the upload resource exists.
    package var hasResource = true
    package var version = "8"
    package var limit: Int?
    /// The number of body bytes after which the server waits.
    package var stopsAt: Int?
    /// The statuses of the next requests to the upload resource.
    package var failures: [String] = []
    package var requests: [String] = []
    package var fields: [[String: String]] = []
  }
  private let state = Mutex(State())
  package let stopped = Gate()
  package let goesOn = Gate()
  private let origin: Mutex<TestOrigin?> = Mutex(nil)

  package init() {
    let origin = TestOrigin(readsBodies: false) { [unowned self] request, socket in
      try serve(request, socket)
    }
    self.origin.withLock { $0 = origin }
  }

  package var url: String { origin.withLock { $0?.url ?? "" } }
  package var bytes: [UInt8] { state.withLock { $0.bytes } }
  package var requests: [String] { state.withLock { $0.requests } }
  package var fields: [[String: String]] { state.withLock { $0.fields } }
  package func set(_ body: (inout State) -> Void) { state.withLock { body(&$0) } }

  private func serve(_ request: TestOrigin.Request, _ socket: Socket) throws -> Bool {
    let names = ["Upload-Complete", "Upload-Offset", "Upload-Draft-Interop-Version", "Content-Type", "X-Own"]
    let seen = names.compactMap { name in request[name].map { (name, $0) } }
    state.withLock {
      $0.requests.append(request.method + " " + request.path)
      $0.fields.append(Dictionary(seen) { $1 })
    }
    guard request.path == "/resource" else { return try create(request, socket) }
    if let failure = state.withLock({ $0.failures.isEmpty ? nil : $0.failures.removeFirst() }) {
      try socket.write(TestOrigin.reply(failure))
      return false
    }
    guard state.withLock({ $0.hasResource }) else {
      try socket.write(TestOrigin.reply("404 Not Found"))
      return true
    }
    return request.method == "HEAD" ? try tell(socket) : try append(request, socket)
  }

  private static func limitField(_ limit: Int?) -> String {
    limit.map { "Upload-Limit: max-size=9999999999, max-append-size=\($0)\r\n" } ?? ""
  }

  private func create(_ request: TestOrigin.Request, _ socket: Socket) throws -> Bool {
    state.withLock { $0.bytes = [] }
    if request["Upload-Draft-Interop-Version"] == "8", request["Upload-Complete"] == "?1" {
      let (version, field) = state.withLock { ($0.version, Self.limitField($0.limit)) }
      try socket.write(
        "HTTP/1.1 104 Upload Resumption Supported\r\nLocation: /resource\r\n\(field)"
          + "Upload-Draft-Interop-Version: \(version)\r\n\r\n")
    }
    guard try take(request, socket) else { return false }
    try socket.write(TestOrigin.reply("201 Created", Array("made".utf8), [("Upload-Complete", "?1")]))
    return true
  }

  private func tell(_ socket: Socket) throws -> Bool {
    let (count, field) = state.withLock { ($0.bytes.count, Self.limitField($0.limit)) }
    try socket.write(
      "HTTP/1.1 204 No Content\r\nUpload-Offset: \(count)\r\nUpload-Complete: ?0\r\n\(field)\r\n")
    return true
  }

  private func append(_ request: TestOrigin.Request, _ socket: Socket) throws -> Bool {
    let offset = Int(request["Upload-Offset"] ?? "")
    guard request["Content-Type"] == "application/partial-upload",
      offset == state.withLock({ $0.bytes.count })
    else {
      try socket.write(
        TestOrigin.reply(
          "409 Conflict", [], [("Upload-Complete", "?0"), ("Upload-Offset", "\(bytes.count)")]))
      return false
    }
    guard try take(request, socket) else { return false }
    let isLast = request["Upload-Complete"] == "?1"
    try socket.write(
      TestOrigin.reply(
        isLast ? "201 Created" : "204 No Content", isLast ? Array("made".utf8) : [],
        [("Upload-Complete", isLast ? "?1" : "?0")]))
    return true
  }

  /// Shuts down its side and reads the rest. A close with unread bytes would reset the connection, and the client
  /// might lose an unread 104.
  private func breakOff(_ socket: Socket) throws {
    socket.shutdownWrites()
    while try socket.readSome() != nil {}
  }

  /// Reads a body. Returns false if the connection is closed before its end.
  private func take(_ request: TestOrigin.Request, _ socket: Socket) throws -> Bool {
    var left = Int(request["Content-Length"] ?? "0") ?? 0
    let end = state.withLock { $0.breaks.isEmpty ? nil : $0.breaks.removeFirst() }
    let stop = state.withLock { state in
      defer { state.stopsAt = nil }
      return state.stopsAt
    }
    var count = 0
    while left > 0 {
      if let end, count >= end {
        try breakOff(socket)
        return false
      }
      if let stop, count >= stop {
        stopped.open()
        goesOn.wait()
        return false
      }
      let most =
        [left, 16_384, end.map { $0 - count }, stop.map { $0 - count }].compactMap { $0 }.min() ?? left
      let piece = try socket.read(exactly: most)
      count += piece.count
      left -= piece.count
      state.withLock { $0.bytes += piece }
    }
    return true
  }

  // MARK: Contents

  package static let contents = Pattern.bytes(900_000)

  /// Creates an upload and returns its id.
  package func upload(
    by ferry: any FerryAPI, session: String = "ses_shared", method: String = "POST", isFile: Bool = true
  ) throws -> String {
    let body =
      try isFile
      ? #"{"file":"\#(ferry.store(Self.contents))"}"#
      : #"{"base64":"\#(Data(Self.contents).base64EncodedString())"}"#
    let request = #","method":"\#(method)","headers":{"X-Own":"kept"},"body":\#(body)"#
    return try ferry.create(url + "/files", kind: "upload", session: session, request: request)
  }

  /// Expects that the whole body arrived once, and that the task shows the client's own request.
  package func expectWhole(_ task: JSONValue, sourceLocation: SourceLocation = #_sourceLocation) {
    #expect(
      task["error"] == .null && task["response"]?["status"]?.integer == 201, "\(task.text)",
      sourceLocation: sourceLocation)
    let (count, isWhole) = (bytes.count, bytes == Self.contents)
    #expect(isWhole, "\(count) bytes came", sourceLocation: sourceLocation)
    let (progress, size) = (task["progress"], Int64(Self.contents.count))
    #expect(progress?["countOfBytesSent"]?.integer == size, sourceLocation: sourceLocation)
    #expect(progress?["countOfBytesExpectedToSend"]?.integer == size, sourceLocation: sourceLocation)
    let (current, original) = (task["currentRequest"], task["originalRequest"])
    #expect(current?["url"]?.string == url + "/files", sourceLocation: sourceLocation)
    #expect(current?["method"] == original?["method"], sourceLocation: sourceLocation)
  }
}

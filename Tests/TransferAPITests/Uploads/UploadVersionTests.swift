import Foundation
import JSON
import Synchronization
import TestSupport
import Testing

/// Resumable uploads to servers that speak a single version of draft-ietf-httpbis-resumable-upload, over sockets.
@Suite(.serialized, .blocking, .sharing) struct UploadVersionTests {
  private let place: InProcessAPI
  private static let contents = Pattern.bytes(400_000)

  init() throws { place = try .ofSuite() }

  /// A server after the text of the drafts that speaks a single version, and that closes the connection at a chosen
  /// offset.
  private final class Server: Sendable {
    private struct State {
      var bytes: [UInt8] = []
      var isComplete = false
      var breaksAt: Int?
      var versions: [String] = []
    }
    private let state = Mutex(State())
    private let version: String
    /// Whether the server answers other versions as tusd does, which takes them for tus 1.0.
    private let speaksTus: Bool
    private let origin = Mutex<TestOrigin?>(nil)

    init(version: String, speaksTus: Bool = false) {
      (self.version, self.speaksTus) = (version, speaksTus)
      let origin = TestOrigin(readsBodies: false) { [unowned self] request, socket in
        try answer(request, socket)
      }
      self.origin.withLock { $0 = origin }
    }

    var url: String { origin.withLock { $0?.url ?? "" } }
    var isWhole: Bool { state.withLock { $0.isComplete && $0.bytes == UploadVersionTests.contents } }
    /// The method of each request, with the version that it offered.
    var versions: [String] { state.withLock { $0.versions } }
    func breakOff(at count: Int) { state.withLock { $0.breaksAt = count } }

    private func answer(_ request: TestOrigin.Request, _ socket: Socket) throws -> Bool {
      let fields = request.fields.filter { $0.name.lowercased() == "upload-draft-interop-version" }
      let offered = fields.map(\.value).joined(separator: ", ")
      state.withLock { $0.versions.append("\(request.method) \(offered)") }
      switch request.method {
      case "POST": return try create(request, isSpoken: offered == version, socket)
      case "HEAD" where offered == version:
        try reply("204 No Content", to: socket, [("Cache-Control", "no-store")])
        return true
      case "PATCH" where offered == version: return try append(request, socket)
      default:
        try socket.write(TestOrigin.reply("404 Not Found"))
        return false
      }
    }

    private func reply(_ status: String, to socket: Socket, _ fields: [(String, String)] = []) throws {
      let (offset, isComplete) = state.withLock { ($0.bytes.count, $0.isComplete) }
      let own = [("Upload-Offset", "\(offset)"), ("Upload-Complete", isComplete ? "?1" : "?0")]
      let head = (fields + own).map { "\($0): \($1)\r\n" }.joined()
      let length = status.hasPrefix("204") ? "" : "Content-Length: 0\r\n"
      try socket.write(Array("HTTP/1.1 \(status)\r\n\(length)\(head)\r\n".utf8))
    }

    private func create(_ request: TestOrigin.Request, isSpoken: Bool, _ socket: Socket) throws -> Bool {
      if speaksTus, !isSpoken {
        let fields = [("Tus-Resumable", "1.0.0"), ("Connection", "close")]
        try socket.write(TestOrigin.reply("412 Precondition Failed", [], fields))
        try Self.linger(socket)
        return false
      }
      state.withLock { ($0.bytes, $0.isComplete) = ([], false) }
      if isSpoken {
        let head = "HTTP/1.1 104 Upload Resumption Supported\r\nUpload-Draft-Interop-Version: \(version)\r\n"
        try socket.write(Array((head + "Location: /uploads/1\r\n\r\n").utf8))
      }
      guard try take(request, socket) else { return false }
      try reply("201 Created", to: socket, [("Location", "/uploads/1")])
      return true
    }

    private func append(_ request: TestOrigin.Request, _ socket: Socket) throws -> Bool {
      guard request["Content-Type"] == "application/partial-upload",
        request["Upload-Offset"] == "\(state.withLock { $0.bytes.count })"
      else {
        try reply("409 Conflict", to: socket)
        return false
      }
      guard try take(request, socket) else { return false }
      try reply("201 Created", to: socket)
      return true
    }

    /// Closes the connection gracefully while the client still sends. A reset would destroy the reply (RFC 9112
    /// §9.6).
    private static func linger(_ socket: Socket) throws {
      socket.shutdownWrites()
      while try socket.readSome() != nil {}
    }

    /// Appends a body. Returns false if the connection is closed in its middle.
    private func take(_ request: TestOrigin.Request, _ socket: Socket) throws -> Bool {
      var left = Int(request["Content-Length"] ?? "") ?? 0
      let end = state.withLock { state in
        defer { state.breaksAt = nil }
        return state.breaksAt
      }
      while left > 0 {
        let count = state.withLock { $0.bytes.count }
        if let end, count >= end {
          try Self.linger(socket)
          return false
        }
        let piece = try socket.read(exactly: min(left, 16_384, end.map { $0 - count } ?? left))
        left -= piece.count
        state.withLock { $0.bytes += piece }
      }
      if request["Upload-Complete"] == "?1" { state.withLock { $0.isComplete = true } }
      return true
    }
  }

  private func upload(to server: Server, in session: String) throws -> JSONValue {
    let body = #"{"base64":"\#(Data(Self.contents).base64EncodedString())"}"#
    let request = #","method":"POST","body":\#(body)"#
    return try place.end(
      of: try place.create(server.url + "/files", kind: "upload", session: session, request: request))
  }

  private func goOn(_ task: JSONValue, in session: String) throws -> JSONValue {
    let data = try place.call("GET", "/v1/tasks/\(task.id)/resume-data").json["resumeData"]?.string ?? ""
    let body = #"{"kind":"upload","resume":true,"resumeData":"\#(data)"}"#
    return try place.end(of: try place.call("POST", "/v1/sessions/\(session)/tasks", body).json.id)
  }

  /// The session's second upload offers version 6, and resuming uses the server's version.
  @Test func `version 6 is learnt from the server`() throws {
    let server = Server(version: "6")
    let session = try place.session()
    #expect(try upload(to: server, in: session).status == 201 && server.isWhole)
    server.breakOff(at: 150_000)
    let broken = try upload(to: server, in: session)
    #expect(broken["error"]?["resumeDataAvailable"]?.bool == true)
    #expect(try goOn(broken, in: session).status == 201 && server.isWhole)
    #expect(try upload(to: server, in: session).status == 201 && server.isWhole)
    #expect(server.versions == ["POST 8", "POST 6", "HEAD 6", "PATCH 6", "POST 6"])
  }

  @Test func `server of tus gets version 6 immediately`() throws {
    let server = Server(version: "6", speaksTus: true)
    let session = try place.session()
    server.breakOff(at: 150_000)
    let broken = try upload(to: server, in: session)
    #expect(broken["error"]?["resumeDataAvailable"]?.bool == true)
    // The other session has not seen this origin. The version is in the resume data.
    #expect(try goOn(broken, in: try place.session()).status == 201 && server.isWhole)
    #expect(server.versions == ["POST 8", "POST 6", "HEAD 6", "PATCH 6"])
  }

  @Test func `version 8 is offered first`() throws {
    let server = Server(version: "8")
    let session = try place.session()
    server.breakOff(at: 150_000)
    let broken = try upload(to: server, in: session)
    #expect(try goOn(broken, in: session).status == 201 && server.isWhole)
    #expect(try upload(to: server, in: session).status == 201 && server.isWhole)
    #expect(server.versions == ["POST 8", "HEAD 8", "PATCH 8", "POST 8"])
  }
}

import Foundation
import JSON
import TestSupport
import Testing

/// Large request bodies, which are files until their task is deleted.
@Suite(.serialized, .blocking, .sharing) struct SpooledBodyTests {
  private static let large = String(repeating: "secret body ", count: 100_000)
  private let place: InProcessAPI
  private let origin = TestOrigin { request, socket in
    let isMoved = request.path == "/moved"
    try socket.write(
      isMoved
        ? TestOrigin.reply("307 Temporary Redirect", [], [("Location", "/there")])
        : TestOrigin.reply("200 OK", Array("\(request.body.count)".utf8)))
    return true
  }

  init() throws { place = try .ofSuite() }

  private func create(
    _ path: String, _ text: String, in session: String = "ses_shared", resume: Bool = false
  ) throws -> String {
    let request = #"{"url":"\#(origin.url)\#(path)","method":"PUT","body":{"text":"\#(text)"}}"#
    let reply = try place.call(
      "POST", "/v1/sessions/\(session)/tasks", #"{"kind":"data","resume":\#(resume),"request":\#(request)}"#)
    #expect(reply.status == 201)
    return reply.json.id
  }

  /// Returns the names of the files with request bodies of a task.
  private func files(of task: String) throws -> [String] {
    try FileManager.default.contentsOfDirectory(atPath: place.directory + "/bodies")
      .filter { $0.hasPrefix(task) && $0.hasSuffix(".request") }
  }

  /// The files are deleted after the commit.
  private func expectNoFiles(of id: String) throws {
    try Patience.wait { try !files(of: id).isEmpty }
    #expect(try files(of: id).isEmpty)
  }

  private func delete(_ session: String) throws {
    #expect(try place.call("POST", "/v1/sessions/\(session)/invalidate").status == 202)
    #expect(try place.call("DELETE", "/v1/sessions/\(session)").status == 204)
  }

  private func expectSuccess(_ id: String) throws {
    let end = try place.end(of: id)
    #expect(end.status == 200, "\(end.text)")
  }

  @Test(arguments: [65_536, 65_537]) func `body above the limit is stored in a file`(_ size: Int) throws {
    let id = try create("/x", String(repeating: "a", count: size))
    #expect(try files(of: id).count == (size > 65_536 ? 1 : 0))
    #expect(try place.task(id)["originalRequest"]?["body"]?["size"]?.integer == Int64(size))
    #expect(try place.task(id)["progress"]?["countOfBytesExpectedToSend"]?.integer == Int64(size))
    _ = try place.call("POST", "/v1/tasks/\(id)/resume")
    try expectSuccess(id)
    #expect(origin.requests.last.map { $0.body == [UInt8](repeating: 0x61, count: size) } == true)
    #expect(origin.requests.last?["Content-Length"] == "\(size)")
    #expect(try place.metrics(of: id)["transactionMetrics"]?.elements?.count == 1)
  }

  @Test func `file of a body is encrypted`() throws {
    let id = try create("/x", Self.large)
    let name = try #require(try files(of: id).first)
    let bytes = try #require(FileManager.default.contents(atPath: "\(place.directory)/bodies/\(name)"))
    #expect(bytes.count > Self.large.utf8.count && bytes.range(of: Data("secret".utf8)) == nil)
    let mode = try FileManager.default.attributesOfItem(atPath: "\(place.directory)/bodies/\(name)")
    #expect(mode[.posixPermissions] as? Int == 0o600)
  }

  @Test func `redirect sends the body again`() throws {
    let id = try create("/moved", Self.large, resume: true)
    let end = try place.end(of: id)
    #expect(end.status == 200 && end["currentRequest"]?["body"]?["size"]?.integer == 1_200_000)
    #expect(origin.requests.map(\.path) == ["/moved", "/there"])
    #expect(origin.requests.allSatisfy { $0.body == Array(Self.large.utf8) })
  }

  /// Returns the id of the session's pending decision. Waits up to 10 s for a decision.
  private func pending(in session: String) throws -> String {
    for _ in 0..<1000 {
      let list = try place.call("GET", "/v1/sessions/\(session)/decisions?state=pending").json
      if let id = list["items"]?.elements?.first?["id"]?.string { return id }
      usleep(10_000)
    }
    Issue.record("no decision became pending within 10 s")
    return ""
  }

  /// The body is spooled like a task's own body. The file is deleted when the delegate replaces the request again.
  @Test func `large body of a delegate request is spooled`() throws {
    let session = try place.session(delegate: #"{"redirects":"ask"}"#)
    let id = try create("/moved", Self.large, in: session, resume: true)
    for (path, letter) in [("/moved", "a"), ("/moved", "b"), ("/there", "c")] {
      let decision = try pending(in: session)
      let text = String(repeating: letter, count: 100_000)
      let request = #"{"url":"\#(origin.url)\#(path)","method":"PUT","body":{"text":"\#(text)"}}"#
      let reply = try place.answer(decision, #"{"request":\#(request)}"#)
      #expect(reply.status == 200 && reply.text.utf8.count < 2000, "\(reply.text.prefix(2000))")
      #expect(reply.json["answer"]?["request"]?["body"]?["size"]?.integer == 100_000)
      #expect(try place.answer(decision, #"{"request":\#(request)}"#).status == 200, "the same again")
      #expect(
        try place.answer(decision, #"{"request":\#(request.replacing(letter + letter, with: "zz"))}"#).status
          == 409)
    }
    let end = try place.end(of: id)
    #expect(end.status == 200 && end["currentRequest"]?["body"]?["size"]?.integer == 100_000)
    #expect(origin.requests.map(\.path) == ["/moved", "/moved", "/moved", "/there"])
    #expect(origin.requests.dropFirst().map { $0.body.first } == [0x61, 0x62, 0x63])
    #expect(origin.requests.dropFirst().allSatisfy { $0.body.count == 100_000 })
    try Patience.wait { try files(of: id).count > 2 }
    #expect(try files(of: id).count == 2)
    try delete(session)
    try expectNoFiles(of: id)
  }

  /// An answer that states the body's size keeps the body and its file.
  @Test func keptBodyKeepsItsFile() throws {
    let session = try place.session(delegate: #"{"redirects":"ask"}"#)
    let id = try create("/moved", "small", in: session, resume: true)
    let text = String(repeating: "a", count: 100_000)
    let kept = #"{"size":100000}"#
    for (path, body) in [("/moved", #"{"text":"\#(text)"}"#), ("/moved", kept), ("/there", kept)] {
      let request = #"{"url":"\#(origin.url)\#(path)","method":"PUT","body":\#(body)}"#
      #expect(try place.answer(pending(in: session), #"{"request":\#(request)}"#).status == 200)
    }
    #expect(try place.end(of: id).status == 200)
    #expect(origin.requests.map(\.body.count) == [5, 100_000, 100_000, 100_000])
    #expect(try files(of: id).count == 1)
  }

  /// A GET must not have a body, so the task ends before the request is sent.
  @Test func requestThatIsNeverSentLeavesNoFile() throws {
    let session = try place.session(delegate: #"{"redirects":"ask"}"#)
    let id = try create("/moved", "small", in: session, resume: true)
    let text = String(repeating: "a", count: 100_000)
    let request = #"{"url":"\#(origin.url)/there","body":{"text":"\#(text)"}}"#
    #expect(try place.answer(pending(in: session), #"{"request":\#(request)}"#).status == 200)
    #expect(try place.end(of: id).errorCode == -1103)
    try expectNoFiles(of: id)
  }

  @Test func `damaged body is not sent`() throws {
    let id = try create("/x", Self.large)
    let path = "\(place.directory)/bodies/\(try #require(try files(of: id).first))"
    var bytes = try #require(FileManager.default.contents(atPath: path))
    bytes[500_000] ^= 1
    try bytes.write(to: URL(fileURLWithPath: path))
    _ = try place.call("POST", "/v1/tasks/\(id)/resume")
    let end = try place.end(of: id)
    #expect(end.errorCode == -1021, "\(end.text)")
    #expect(origin.requests.allSatisfy { $0.body.count < 500_000 })
  }

  @Test func `missing file of a body is an error`() throws {
    let id = try create("/x", Self.large)
    try FileManager.default.removeItem(
      atPath: "\(place.directory)/bodies/\(try #require(try files(of: id).first))")
    _ = try place.call("POST", "/v1/tasks/\(id)/resume")
    let end = try place.end(of: id)
    #expect(
      end.errorCode == -1100
        && end["error"]?["message"]?.string == "the file with the request's body no longer exists"
    )
    #expect(origin.requests.isEmpty)
  }

  /// The body may be sent again until the task is deleted.
  @Test func `file of a body is deleted with its task`() throws {
    let session = try place.session()
    let id = try create("/x", Self.large, in: session, resume: true)
    try expectSuccess(id)
    #expect(try files(of: id).count == 1)
    try delete(session)
    try expectNoFiles(of: id)
  }

  @Test func `refused task leaves no file`() throws {
    let session = try place.session()
    #expect(try place.call("POST", "/v1/sessions/\(session)/invalidate").status == 202)
    let request = #"{"url":"\#(origin.url)/x","method":"PUT","body":{"text":"\#(Self.large)"}}"#
    let reply = try place.call(
      "POST", "/v1/sessions/\(session)/tasks", #"{"kind":"data","request":\#(request)}"#)
    #expect(reply.status == 409)
    let names = try FileManager.default.contentsOfDirectory(atPath: place.directory + "/bodies")
    #expect(!names.contains { $0.hasSuffix(".part") })
  }

  @Test func `ephemeral session keeps the body in memory`() throws {
    let reply = try place.call("POST", "/v1/sessions", #"{"type":"ephemeral"}"#)
    let id = try create("/x", Self.large, in: reply.json.id)
    #expect(try files(of: id).isEmpty)
    _ = try place.call("POST", "/v1/tasks/\(id)/resume")
    try expectSuccess(id)
    #expect(origin.requests.last.map { $0.body == Array(Self.large.utf8) } == true)
  }
}

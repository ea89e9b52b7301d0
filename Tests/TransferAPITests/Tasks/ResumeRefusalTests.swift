import Foundation
import JSON
import TestSupport
import Testing

/// Downloads without resume data, and invalid resume data: §5 "Resume data", invalidResumeDataForDownloadTask.
@Suite(.serialized, .blocking, .sharing) struct ResumeRefusalTests {
  private let place: InProcessAPI
  private let origin = ResumableOrigin()

  init() throws { place = try .ofSuite() }

  // MARK: Not resumable

  struct Case: Sendable, CustomTestStringConvertible {
    let testDescription: String
    var validators = [("ETag", "\"one\"")]
    var fields = [("Accept-Ranges", "bytes")]
    var kind = "download"
    var request = ""
    init(_ name: String, _ change: (inout Case) -> Void) {
      testDescription = name
      change(&self)
    }
  }

  static let cases = [
    Case("POST") { $0.request = #","method":"POST","body":{"text":"x"}"# },
    Case("a range") { $0.request = #","headers":{"Range":"bytes=0-"}"# },
    Case("a weak ETag") { $0.validators = [("ETag", "W/\"one\"")] },
    Case("no validator") { $0.validators = [] },
    Case("no ranges") { $0.fields = [] },
    Case("ranges refused") { $0.fields = [("Accept-Ranges", "none")] },
    Case("a data task") { $0.kind = "data" },
  ]

  @Test(arguments: cases) func `task that cannot resume has no resume data`(_ it: Case) throws {
    origin.change {
      $0.validators = it.validators
      $0.fields = it.fields
      $0.stop = 300_000
    }
    let id = try place.stalled(origin.url, at: 300_000, kind: it.kind, request: it.request)
    try expectNone(id)
  }

  /// The origin counts coded bytes, and the file contains decoded bytes.
  @Test func `coded body has no resume data`() throws {
    let gate = Gate()
    let origin = TestOrigin { request, socket in
      // A stored block of 5 bytes, and the beginning of the next.
      let gzip: [UInt8] =
        [0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 0, 3] + [0, 5, 0, 0xFA, 0xFF] + Array("hello".utf8) + [0]
      try socket.write("HTTP/1.1 200 OK\r\nContent-Length: 900\r\nContent-Encoding: gzip\r\n")
      try socket.write("ETag: \"one\"\r\nAccept-Ranges: bytes\r\n\r\n")
      try socket.write(gzip)
      gate.open()
      return try socket.readSome() != nil
    }
    let id = try place.create(origin.url, kind: "download")
    gate.wait()
    _ = try place.poll("/v1/tasks/\(id)") { $0.received > 0 }
    try expectNone(id)
  }

  @Test func `download has no resume data before its first byte`() throws {
    try expectNone(place.create(origin.url, kind: "download", resume: false))
    let gate = Gate()
    let silent = TestOrigin { _, socket in
      gate.open()
      return try socket.readSome() != nil
    }
    let id = try place.create(silent.url, kind: "download")
    gate.wait()
    try expectNone(id)
    origin.change { $0.stop = 0 }
    let headOnly = try place.create(origin.url, kind: "download")
    _ = try place.poll("/v1/tasks/\(headOnly)") { _ in !origin.requests.isEmpty }
    try expectNone(headOnly)
  }

  @Test func `finished download has no resume data`() throws {
    let id = try place.run(origin.url).id
    #expect(try place.cancelProducingResumeData(id) == .null)
    #expect(try place.call("GET", "/v1/tasks/\(id)/resume-data").status == 404)
    #expect(try place.body(of: id) == ResumableOrigin.body)
  }

  /// cancel() without the flag deletes the temporary file.
  @Test func `plain cancel produces no resume data`() throws {
    origin.change { $0.stop = 300_000 }
    let id = try place.stalled(origin.url, at: 300_000)
    #expect(try place.act("cancel", id) == "canceling")
    #expect(try place.end(of: id)["error"]?["resumeDataAvailable"]?.bool != true)
    #expect(try place.call("GET", "/v1/tasks/\(id)/resume-data").status == 404)
  }

  private func expectNone(_ id: String) throws {
    #expect(try place.cancelProducingResumeData(id) == .null)
    let task = try place.end(of: id)
    #expect(task.errorCode == -999 && task["error"]?["resumeDataAvailable"]?.bool != true)
    let reply = try place.call("GET", "/v1/tasks/\(id)/resume-data")
    #expect(reply.status == 404 && reply["Content-Type"] == "application/problem+json")
    let left = try FileManager.default.contentsOfDirectory(atPath: place.directory + "/bodies")
    #expect(left.allSatisfy { !$0.contains(id) })
  }

  // MARK: Invalid resume data

  private func resumeData() throws -> String { try cancelled().resumeData }

  /// Cancels a resumable download. Returns its id and its resume data.
  private func cancelled() throws -> (id: String, resumeData: String) {
    origin.change { $0.stop = 300_000 }
    let request = #","headers":{"Authorization":"Bearer the-secret-of-the-origin"}"#
    let id = try place.stalled(origin.url, at: 300_000, request: request)
    defer { origin.change { $0.stop = nil } }
    return (id, try #require(try place.cancelProducingResumeData(id).string))
  }

  /// Resume data are authenticated. Foreign or altered data are refused, and no task is created.
  @Test func `forged resume data are refused`() throws {
    let data = try resumeData()
    let flipped = [0, data.count / 2, data.count - 4].map { place in
      var characters = Array(data)
      characters[place] = characters[place] == "A" ? "B" : "A"
      return String(characters)
    }
    let cut = [1, 4, data.count / 2, data.count - 1].map { String(data.dropLast($0)) }
    let other = ["", "garbage", "ä€😀", data + "AAAA", data + data, String(repeating: "A", count: 100_000)]
    let tasks = try place.call("GET", "/v1/sessions/ses_shared/tasks").json["items"]?.elements?.count
    for forged in flipped + cut + other { try expectRefused(forged, by: place) }
    #expect(origin.requests.count == 1)
    #expect(try place.call("GET", "/v1/sessions/ses_shared/tasks").json["items"]?.elements?.count == tasks)
    // The original is still valid.
    let task = try place.download(resuming: data)
    #expect(try task["error"] == .null && place.body(of: task.id) == ResumableOrigin.body)
    #expect(origin.requests.last?["Authorization"] == "Bearer the-secret-of-the-origin")
  }

  private func expectRefused(_ forged: String, by place: InProcessAPI) throws {
    let body = #"{"kind":"download","resume":true,"resumeData":"\#(forged)"}"#
    let reply = try place.call("POST", "/v1/tasks", body)
    #expect(reply.status == 400, "\(forged.prefix(300))")
    #expect(reply.json["errors"]?.elements?.compactMap { $0["pointer"]?.string } == ["/resumeData"])
  }

  @Test func `resume data of another service are refused`() throws {
    let data = try resumeData()
    try expectRefused(data, by: InProcessAPI())
    #expect(origin.requests.count == 1)
  }

  /// A client may keep resume data anywhere, so they must not reveal credentials.
  @Test func resumeDataIsOpaque() throws {
    let (id, data) = try cancelled()
    let alphabet = Set("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_")
    #expect(data.allSatisfy(alphabet.contains))
    var base64 = data.replacing("-", with: "+").replacing("_", with: "/")
    base64 += String(repeating: "=", count: (4 - base64.count % 4) % 4)
    let bytes = try #require(Data(base64Encoded: base64))
    for secret in ["the-secret-of-the-origin", "Authorization", "127.0.0.1", "tsk_", "\"one\""] {
      #expect(!data.contains(secret) && bytes.range(of: Data(secret.utf8)) == nil, "\(secret)")
    }
    // The encryption is randomised, so equal downloads have different resume data.
    #expect(try place.resumeData(of: id) != place.resumeData(of: id))
  }

  @Test(arguments: [
    (#"{"kind":"download","resumeData":7}"#, "/resumeData"),
    (#"{"kind":"download","resumeData":{}}"#, "/resumeData"),
    (#"{"kind":"download","resumeData":["x"]}"#, "/resumeData"),
    (#"{"kind":"data","resumeData":"x"}"#, "/resumeData"),
    (#"{"kind":"upload","resumeData":"x"}"#, "/resumeData"),
    (#"{"kind":"download","resumeData":"x","request":{"url":"http://127.0.0.1"}}"#, "/request"),
    (#"{"kind":"download"}"#, "/request"),
  ]) func `wrong member of a resumed task is named`(_ body: String, _ pointer: String) throws {
    let reply = try place.call("POST", "/v1/tasks", body)
    #expect(reply.status == 400)
    let pointers = reply.json["errors"]?.elements?.compactMap { $0["pointer"]?.string ?? $0["field"]?.string }
    #expect(pointers?.contains { $0.hasSuffix(pointer) } == true, "\(reply.text)")
  }

  @Test(arguments: [
    #"{"producingResumeData":1}"#, #"{"producingResumeData":"true"}"#, #"{"producing":true}"#,
  ])
  func `invalid cancel request is refused`(_ body: String) throws {
    let id = try place.create(origin.url, kind: "download", resume: false)
    #expect(try place.call("POST", "/v1/tasks/\(id)/cancel", body).status == 400)
    #expect(try place.task(id)["state"]?.string == "suspended")
  }
}

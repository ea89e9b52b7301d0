import Foundation
import JSON
import TestSupport
import Testing

/// Where there is no resume data, and what is none: §5 "Resume data", invalidResumeDataForDownloadTask.
@Suite(.serialized, .blocking, .sharing) struct ResumeRefusalTests {
  private let ferry: FerryProcess
  private let origin = ResumableOrigin()

  init() throws { ferry = try .ofSuite() }

  // MARK: What cannot go on

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

  @Test(arguments: cases) func whatCannotGoOnLeavesNoResumeData(_ it: Case) throws {
    origin.change {
      $0.validators = it.validators
      $0.fields = it.fields
      $0.stop = 300_000
    }
    let id = try ferry.stalled(origin.url, at: 300_000, kind: it.kind, request: it.request)
    try expectNone(id)
  }

  /// Bytes on the disk are not those that the origin counts.
  @Test func anEncodedBodyLeavesNoResumeData() throws {
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
    let id = try ferry.create(origin.url, kind: "download")
    gate.wait()
    _ = try ferry.poll("/v1/tasks/\(id)") { $0.received > 0 }
    try expectNone(id)
  }

  @Test func thereIsNoneBeforeTheFirstByte() throws {
    try expectNone(ferry.create(origin.url, kind: "download", resume: false))
    let gate = Gate()
    let silent = TestOrigin { _, socket in
      gate.open()
      return try socket.readSome() != nil
    }
    let id = try ferry.create(silent.url, kind: "download")
    gate.wait()
    try expectNone(id)
    origin.change { $0.stop = 0 }
    let headOnly = try ferry.create(origin.url, kind: "download")
    _ = try ferry.poll("/v1/tasks/\(headOnly)") { _ in !origin.requests.isEmpty }
    try expectNone(headOnly)
  }

  @Test func aFinishedDownloadHasNone() throws {
    let id = try ferry.run(origin.url).id
    #expect(try ferry.cancelProducingResumeData(id) == .null)
    #expect(try ferry.call("GET", "/v1/tasks/\(id)/resume-data").status == 404)
    #expect(try ferry.body(of: id) == ResumableOrigin.body)
  }

  /// cancel() without the flag: the temporary file is gone.
  @Test func whoDoesNotAskForItGetsNone() throws {
    origin.change { $0.stop = 300_000 }
    let id = try ferry.stalled(origin.url, at: 300_000)
    #expect(try ferry.act("cancel", id) == "canceling")
    #expect(try ferry.end(of: id)["error"]?["resumeDataAvailable"]?.bool != true)
    #expect(try ferry.call("GET", "/v1/tasks/\(id)/resume-data").status == 404)
  }

  private func expectNone(_ id: String) throws {
    #expect(try ferry.cancelProducingResumeData(id) == .null)
    let task = try ferry.end(of: id)
    #expect(task.errorCode == -999 && task["error"]?["resumeDataAvailable"]?.bool != true)
    let reply = try ferry.call("GET", "/v1/tasks/\(id)/resume-data")
    #expect(reply.status == 404 && reply["Content-Type"] == "application/problem+json")
    let left = try FileManager.default.contentsOfDirectory(atPath: ferry.directory + "/bodies")
    #expect(left.allSatisfy { !$0.contains(id) })
  }

  // MARK: What is none

  private func resumeData() throws -> String { try cancelled().resumeData }

  /// A download that can go on.
  private func cancelled() throws -> (id: String, resumeData: String) {
    origin.change { $0.stop = 300_000 }
    let request = #","headers":{"Authorization":"Bearer the-secret-of-the-origin"}"#
    let id = try ferry.stalled(origin.url, at: 300_000, request: request)
    defer { origin.change { $0.stop = nil } }
    return (id, try #require(try ferry.cancelProducingResumeData(id).string))
  }

  /// It is authenticated: what is not the service's is refused at once, and makes no task.
  @Test func whatIsNotTheServicesResumeDataIsRefused() throws {
    let data = try resumeData()
    let flipped = [0, data.count / 2, data.count - 4].map { place in
      var characters = Array(data)
      characters[place] = characters[place] == "A" ? "B" : "A"
      return String(characters)
    }
    let cut = [1, 4, data.count / 2, data.count - 1].map { String(data.dropLast($0)) }
    let other = ["", "garbage", "ä€😀", data + "AAAA", data + data, String(repeating: "A", count: 100_000)]
    let tasks = try ferry.call("GET", "/v1/sessions/ses_shared/tasks").json["items"]?.elements?.count
    for forged in flipped + cut + other { try expectRefused(forged, by: ferry) }
    #expect(origin.requests.count == 1)
    #expect(try ferry.call("GET", "/v1/sessions/ses_shared/tasks").json["items"]?.elements?.count == tasks)
    // The true one is as good as before.
    let task = try ferry.download(resuming: data)
    #expect(try task["error"] == .null && ferry.body(of: task.id) == ResumableOrigin.body)
    #expect(origin.requests.last?["Authorization"] == "Bearer the-secret-of-the-origin")
  }

  private func expectRefused(_ forged: String, by ferry: FerryProcess) throws {
    let body = #"{"kind":"download","resume":true,"resumeData":"\#(forged)"}"#
    let reply = try ferry.call("POST", "/v1/tasks", body)
    #expect(reply.status == 400, "\(forged.prefix(300))")
    #expect(reply.json["errors"]?.elements?.compactMap { $0["pointer"]?.string } == ["/resumeData"])
  }

  /// A line that is refused keeps none of the others.
  @Test func aLineWithForgedResumeDataIsRefusedByItself() throws {
    let data = try resumeData()
    let lines = ["forged", data].map { #"{"kind":"download","resume":true,"resumeData":"\#($0)"}"# }
    let reply = try ferry.call(
      "POST", "/v1/tasks", lines.joined(separator: "\n"), [("Content-Type", "application/x-ndjson")])
    let results = try reply.text.split(separator: "\n").map { try JSONParser.parse(Array($0.utf8)) }
    #expect(results.count == 2 && results[0]["status"]?.integer == 400, "\(reply.text)")
    #expect(results[0]["errors"]?.elements?.compactMap { $0["pointer"]?.string } == ["/resumeData"])
    #expect(try ferry.end(of: results[1].id)["error"] == .null)
  }

  @Test func anotherServicesResumeDataIsRefused() throws {
    let data = try resumeData()
    try expectRefused(data, by: FerryProcess())
    #expect(origin.requests.count == 1)
  }

  /// Credentials in a token that a client may keep anywhere would be out of anyone's control.
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
    // It differs each time, too: nobody can tell two of the same download.
    #expect(try ferry.resumeData(of: id) != ferry.resumeData(of: id))
  }

  @Test(arguments: [
    (#"{"kind":"download","resumeData":7}"#, "/resumeData"),
    (#"{"kind":"download","resumeData":{}}"#, "/resumeData"),
    (#"{"kind":"download","resumeData":["x"]}"#, "/resumeData"),
    (#"{"kind":"data","resumeData":"x"}"#, "/resumeData"),
    (#"{"kind":"upload","resumeData":"x"}"#, "/resumeData"),
    (#"{"kind":"download","resumeData":"x","request":{"url":"http://127.0.0.1"}}"#, "/request"),
    (#"{"kind":"download"}"#, "/request"),
  ]) func aWrongFieldIsNamed(_ body: String, _ pointer: String) throws {
    let reply = try ferry.call("POST", "/v1/tasks", body)
    #expect(reply.status == 400)
    let pointers = reply.json["errors"]?.elements?.compactMap { $0["pointer"]?.string ?? $0["field"]?.string }
    #expect(pointers?.contains { $0.hasSuffix(pointer) } == true, "\(reply.text)")
  }

  @Test(arguments: [
    #"{"producingResumeData":1}"#, #"{"producingResumeData":"true"}"#, #"{"producing":true}"#,
  ])
  func aWrongCancelIsRefused(_ body: String) throws {
    let id = try ferry.create(origin.url, kind: "download", resume: false)
    #expect(try ferry.call("POST", "/v1/tasks/\(id)/cancel", body).status == 400)
    #expect(try ferry.task(id)["state"]?.string == "suspended")
  }
}

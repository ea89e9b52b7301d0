import JSON
import TestSupport
import Testing

/// uploadTask(withResumeData:): uploads continue on servers that keep the received bytes.
@Suite(.serialized, .blocking, .sharing) struct ResumableUploadTests {
  private let place: InProcessAPI
  private let origin = ResumableUploadOrigin()

  init() throws { place = try .ofSuite() }

  private func goOn(_ data: String, kind: String = "upload") throws -> HTTPReply {
    try place.call("POST", "/v1/tasks", #"{"kind":"\#(kind)","resume":true,"resumeData":"\#(data)"}"#)
  }

  @Test(arguments: [false, true]) func `interrupted upload is resumed`(_ isFile: Bool) throws {
    origin.set { $0.breaks = [300_000] }
    let first = try origin.upload(by: place, isFile: isFile)
    let broken = try place.end(of: first)
    #expect(
      broken.errorCode == -1011 && broken["error"]?["resumeDataAvailable"]?.bool == true, "\(broken.text)")
    let data = try #require(
      try place.call("GET", "/v1/tasks/\(first)/resume-data").json["resumeData"]?.string)
    let reply = try goOn(data)
    #expect(reply.status == 201, "\(reply.text)")
    let id = reply.json.id
    let sent = try place.story(of: id).filter { $0.type == "task.didSendBodyData" }
    // The bytes that the server already has are neither sent nor reported as sent.
    #expect(sent.allSatisfy { ($0.data["countOfBytesSent"]?.integer ?? 0) >= 300_000 })
    origin.expectWhole(try place.task(id))
    #expect(try place.body(of: id) == Array("made".utf8))
    #expect(origin.requests == ["POST /files", "HEAD /resource", "PATCH /resource"])
    #expect(origin.fields[0]["Upload-Complete"] == "?1" && origin.fields[0]["Upload-Offset"] == nil)
    #expect(origin.fields[2]["Upload-Offset"] == "300000" && origin.fields[2]["Upload-Complete"] == "?1")
    #expect(origin.fields.map { $0["X-Own"] } == ["kept", "kept", "kept"])
    #expect(origin.fields.allSatisfy { $0["Upload-Draft-Interop-Version"] == "8" })
  }

  /// A short line of resume data stands for a whole body, which the service reads into memory.
  @Test func batchOfResumedUploadsHasALimitedSize() throws {
    origin.set { $0.breaks = [300_000] }
    let first = try origin.upload(by: place, isFile: false)
    _ = try place.end(of: first)
    let data = try #require(
      try place.call("GET", "/v1/tasks/\(first)/resume-data").json["resumeData"]?.string)
    let most = (64 << 20) / ResumableUploadOrigin.contents.count
    let line = #"{"kind":"upload","resumeData":"\#(data)"}"# + "\n"
    let reply = try place.call(
      "POST", "/v1/tasks", String(repeating: line, count: most + 2),
      [("Content-Type", "application/x-ndjson")])
    let statuses = try reply.text.split(separator: "\n").map { line in
      try JSONParser.parse(Array(line.utf8))["status"]?.integer
    }
    #expect(statuses.prefix(most).allSatisfy { $0 == nil })
    #expect(Array(statuses.dropFirst(most)) == [413, 413])
  }

  @Test func `cancelled upload is resumed`() throws {
    origin.set { $0.stopsAt = 200_000 }
    let id = try origin.upload(by: place)
    #expect(origin.stopped.wait())
    // The informational response shows that the upload is resumable.
    _ = try place.events("/v1/tasks/\(id)/events?after=0").read(
      upTo: "task.didReceiveInformationalResponse")
    let data = try #require(try place.cancelProducingResumeData(id).string)
    origin.goesOn.open()
    #expect(try place.end(of: id).errorCode == -999)
    // Other kinds of tasks refuse the resume data of an upload.
    for kind in ["data", "download"] {
      let reply = try goOn(data, kind: kind)
      #expect(reply.status == 400)
      #expect(reply.json["errors"]?.elements?.compactMap { $0["pointer"]?.string } == ["/resumeData"])
    }
    origin.expectWhole(try place.end(of: goOn(data).json.id))
  }

  /// The server speaks no version of the draft, or an unsupported one.
  @Test(arguments: ["7", ""]) func `unsupported server has no resume data`(_ version: String) throws {
    origin.set { ($0.breaks, $0.version) = ([300_000], version) }
    let id = try origin.upload(by: place)
    #expect(try place.end(of: id)["error"]?["resumeDataAvailable"]?.bool == false)
    #expect(try place.call("GET", "/v1/tasks/\(id)/resume-data").status == 404)
  }

  @Test func `upload that the server no longer has cannot be resumed`() throws {
    origin.set { $0.breaks = [300_000] }
    let id = try origin.upload(by: place)
    _ = try place.end(of: id)
    let data = try #require(try place.call("GET", "/v1/tasks/\(id)/resume-data").json["resumeData"]?.string)
    origin.set { $0.failures = ["503 Service Unavailable"] }
    let busy = try place.end(of: goOn(data).json.id)
    #expect(busy.errorCode == -1011 && busy["error"]?["resumeDataAvailable"]?.bool == true)
    origin.set { $0.hasResource = false }
    let gone = try place.end(of: goOn(data).json.id)
    #expect(gone.errorCode == -1011 && gone["error"]?["resumeDataAvailable"]?.bool == false)
  }

  /// The inline body of an upload is stored with its task.
  @Test func `upload without its body cannot be resumed`() throws {
    for isFile in [false, true] {
      origin.set { $0.breaks = [300_000] }
      let session = try place.session()
      let id = try origin.upload(by: place, session: session, isFile: isFile)
      let task = try place.end(of: id)
      let data = try #require(try place.call("GET", "/v1/tasks/\(id)/resume-data").json["resumeData"]?.string)
      let file = task["originalRequest"]?["body"]?["file"]?.string
      let invalidation = #"{"mode":"finishTasks"}"#
      #expect(try place.call("POST", "/v1/sessions/\(session)/invalidate", invalidation).status == 202)
      let target = file.map { "/v1/files/\($0)" } ?? "/v1/sessions/\(session)"
      #expect(try place.call("DELETE", target).status == 204)
      let reply = try goOn(data)
      #expect(reply.status == 400)
      #expect(reply.json["errors"]?.elements?.compactMap { $0["pointer"]?.string } == ["/resumeData"])
    }
  }

  @Test func `server with a small limit receives the upload in parts`() throws {
    origin.set { ($0.breaks, $0.limit) = ([100_000], 300_000) }
    let id = try origin.upload(by: place)
    _ = try place.end(of: id)
    let data = try #require(try place.call("GET", "/v1/tasks/\(id)/resume-data").json["resumeData"]?.string)
    origin.expectWhole(try place.end(of: goOn(data).json.id))
    #expect(origin.fields.compactMap { $0["Upload-Offset"] } == ["100000", "400000", "700000"])
    #expect(origin.fields.map { $0["Upload-Complete"] } == ["?1", nil, "?0", "?0", "?1"])
  }
}

import Foundation
import JSON
import TestSupport
import Testing

/// uploadTask(withResumeData:): uploads go on where they stopped, on servers that keep what has come.
@Suite(.serialized, .blocking) struct ResumableUploadTests {
  private static let bytes = Pattern.bytes(900_000)
  private let origin = ResumableUploadOrigin()

  private func body(_ ferry: FerryProcess, _ isFile: Bool) throws -> String {
    guard isFile else { return #"{"base64":"\#(Data(Self.bytes).base64EncodedString())"}"# }
    return #"{"file":"\#(try ferry.store(Self.bytes))"}"#
  }

  private func upload(
    _ ferry: FerryProcess, session: String = "ses_shared", method: String = "POST", isFile: Bool = true
  ) throws -> String {
    let request = #","method":"\#(method)","headers":{"X-Own":"kept"},"body":\#(try body(ferry, isFile))"#
    return try ferry.create(origin.url + "/files", kind: "upload", session: session, request: request)
  }

  private func goOn(_ ferry: FerryProcess, _ data: String, kind: String = "upload") throws -> HTTPReply {
    try ferry.call("POST", "/v1/tasks", #"{"kind":"\#(kind)","resume":true,"resumeData":"\#(data)"}"#)
  }

  /// Everything is there, once; and what the client sees is its own request.
  private func expectWhole(_ task: JSONValue) {
    #expect(task["error"] == .null && task["response"]?["status"]?.integer == 201, "\(task.text)")
    let (count, isWhole) = (origin.bytes.count, origin.bytes == Self.bytes)
    #expect(isWhole, "\(count) bytes came")
    #expect(task["progress"]?["countOfBytesSent"]?.integer == Int64(Self.bytes.count))
    #expect(task["progress"]?["countOfBytesExpectedToSend"]?.integer == Int64(Self.bytes.count))
    #expect(task["currentRequest"]?["url"]?.string == origin.url + "/files")
    #expect(task["currentRequest"]?["method"] == task["originalRequest"]?["method"])
  }

  @Test(arguments: [false, true]) func whatBreaksOffGoesOn(_ isFile: Bool) throws {
    let ferry = try FerryProcess()
    origin.set { $0.breaks = [300_000] }
    let first = try upload(ferry, isFile: isFile)
    let broken = try ferry.end(of: first)
    #expect(
      broken.errorCode == -1011 && broken["error"]?["resumeDataAvailable"]?.bool == true, "\(broken.text)")
    let data = try #require(
      try ferry.call("GET", "/v1/tasks/\(first)/resume-data").json["resumeData"]?.string)
    let reply = try goOn(ferry, data)
    #expect(reply.status == 201, "\(reply.text)")
    let id = reply.json.id
    let sent = try ferry.story(of: id).filter { $0.type == "task.didSendBodyData" }
    // What had come before is not sent, and not told as sent.
    #expect(sent.allSatisfy { ($0.data["countOfBytesSent"]?.integer ?? 0) >= 300_000 })
    expectWhole(try ferry.task(id))
    #expect(try ferry.body(of: id) == Array("made".utf8))
    #expect(origin.requests == ["POST /files", "HEAD /resource", "PATCH /resource"])
    #expect(origin.fields[0]["Upload-Complete"] == "?1" && origin.fields[0]["Upload-Offset"] == nil)
    #expect(origin.fields[2]["Upload-Offset"] == "300000" && origin.fields[2]["Upload-Complete"] == "?1")
    #expect(origin.fields.map { $0["X-Own"] } == ["kept", "kept", "kept"])
    #expect(origin.fields.allSatisfy { $0["Upload-Draft-Interop-Version"] == "8" })
  }

  @Test func whatIsCancelledGoesOn() throws {
    let ferry = try FerryProcess()
    origin.set { $0.stopsAt = 200_000 }
    let id = try upload(ferry)
    #expect(origin.stopped.wait())
    let data = try #require(try ferry.cancelProducingResumeData(id).string)
    origin.goesOn.open()
    #expect(try ferry.end(of: id).errorCode == -999)
    // Other kinds of tasks do not know what to do with it.
    for kind in ["data", "download"] {
      let reply = try goOn(ferry, data, kind: kind)
      #expect(reply.status == 400)
      #expect(reply.json["errors"]?.elements?.compactMap { $0["pointer"]?.string } == ["/resumeData"])
    }
    expectWhole(try ferry.end(of: goOn(ferry, data).json.id))
  }

  /// A server that does not keep anything, or speaks of another version of the draft.
  @Test(arguments: ["7", ""]) func whereNothingIsKeptThereIsNoResumeData(_ version: String) throws {
    let ferry = try FerryProcess()
    origin.set { ($0.breaks, $0.version) = ([300_000], version) }
    let id = try upload(ferry)
    #expect(try ferry.end(of: id)["error"]?["resumeDataAvailable"]?.bool == false)
    #expect(try ferry.call("GET", "/v1/tasks/\(id)/resume-data").status == 404)
  }

  @Test func whatTheServerHasForgottenFails() throws {
    let ferry = try FerryProcess()
    origin.set { $0.breaks = [300_000] }
    let id = try upload(ferry)
    _ = try ferry.end(of: id)
    let data = try #require(try ferry.call("GET", "/v1/tasks/\(id)/resume-data").json["resumeData"]?.string)
    origin.set { $0.failures = ["503 Service Unavailable"] }
    let busy = try ferry.end(of: goOn(ferry, data).json.id)
    #expect(busy.errorCode == -1011 && busy["error"]?["resumeDataAvailable"]?.bool == true)
    origin.set { $0.hasResource = false }
    let gone = try ferry.end(of: goOn(ferry, data).json.id)
    #expect(gone.errorCode == -1011 && gone["error"]?["resumeDataAvailable"]?.bool == false)
  }

  /// The bytes of a body that came with its task are with that task.
  @Test func withoutTheBodyThereIsNothingToSend() throws {
    let ferry = try FerryProcess()
    for isFile in [false, true] {
      origin.set { $0.breaks = [300_000] }
      let session = try ferry.session()
      let id = try upload(ferry, session: session, isFile: isFile)
      let task = try ferry.end(of: id)
      let data = try #require(try ferry.call("GET", "/v1/tasks/\(id)/resume-data").json["resumeData"]?.string)
      let file = task["originalRequest"]?["body"]?["file"]?.string
      let invalidation = #"{"mode":"finishTasks"}"#
      #expect(try ferry.call("POST", "/v1/sessions/\(session)/invalidate", invalidation).status == 202)
      let place = file.map { "/v1/files/\($0)" } ?? "/v1/sessions/\(session)"
      #expect(try ferry.call("DELETE", place).status == 204)
      let reply = try goOn(ferry, data)
      #expect(reply.status == 400)
      #expect(reply.json["errors"]?.elements?.compactMap { $0["pointer"]?.string } == ["/resumeData"])
    }
  }

  @Test func aServerThatTakesLittleAtOnceGetsItInPieces() throws {
    let ferry = try FerryProcess()
    origin.set { ($0.breaks, $0.limit) = ([100_000], 300_000) }
    let id = try upload(ferry)
    _ = try ferry.end(of: id)
    let data = try #require(try ferry.call("GET", "/v1/tasks/\(id)/resume-data").json["resumeData"]?.string)
    expectWhole(try ferry.end(of: goOn(ferry, data).json.id))
    #expect(origin.fields.compactMap { $0["Upload-Offset"] } == ["100000", "400000", "700000"])
    #expect(origin.fields.map { $0["Upload-Complete"] } == ["?1", nil, "?0", "?0", "?1"])
  }

  /// By itself, and over the death of the process: also a POST, as its server is asked how much has come.
  @Test(arguments: [("POST", false), ("POST", true), ("PUT", false)])
  func inTheBackgroundItGoesOnByItself(_ method: String, _ dies: Bool) throws {
    let place = try BackgroundPlace()
    let session = try place.session("a", #"{"retry":{"backoff":0.01}}"#)
    origin.set { if dies { $0.stopsAt = 400_000 } else { $0.breaks = [400_000, 100_000] } }
    let id = try upload(place.ferry, session: session, method: method)
    if dies {
      #expect(origin.stopped.wait())
      // That it can go on is known there.
      _ = try place.ferry.events("/v1/tasks/\(id)/events?after=0").read(
        upTo: "task.didReceiveInformationalResponse")
      #expect(try place.worker.send(SIGKILL))
      origin.goesOn.open()
    }
    expectWhole(try place.ferry.end(of: id))
    let expected = dies ? ["HEAD", "PATCH"] : ["HEAD", "PATCH", "HEAD", "PATCH"]
    #expect(origin.requests == ["\(method) /files"] + expected.map { "\($0) /resource" })
  }

  /// Where the server has lost it, what may be sent twice is.
  @Test(arguments: [("PUT", true), ("POST", false)]) func inTheBackgroundItBeginsAnew(
    _ method: String, _ isSentTwice: Bool
  ) throws {
    let place = try BackgroundPlace()
    let session = try place.session("a", #"{"retry":{"backoff":0.01,"maximumAttempts":2}}"#)
    origin.set { ($0.breaks, $0.hasResource) = ([400_000], false) }
    let task = try place.ferry.end(of: upload(place.ferry, session: session, method: method))
    if isSentTwice { expectWhole(task) } else { #expect(task.errorCode == -1011) }
    #expect(
      origin.requests == ["\(method) /files", "HEAD /resource"] + (isSentTwice ? ["\(method) /files"] : []))
  }
}

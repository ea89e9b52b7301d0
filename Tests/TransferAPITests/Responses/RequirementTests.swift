import Crypto
import JSON
import TestSupport
import Testing
import TransferModel

/// `failOnStatus` and `expected`.
@Suite(.serialized, .blocking, .sharing) struct RequirementTests {
  private static let large = [UInt8](NginxServer.contents(100_000))
  private let place: InProcessAPI
  /// Some paths have responses of their own: a status with a page, no body, another length, or a body without an end. The rest get a large
  /// body.
  private let origin = TestOrigin { request, socket in
    let parts = request.path.split(separator: "/").map(String.init)
    switch parts.first {
    case "status": try socket.write(TestOrigin.reply("\(parts[1]) Status", Array("a page".utf8)))
    case "empty": try socket.write("HTTP/1.1 204 No Content\r\n\r\n")
    case "length":
      try socket.write("HTTP/1.1 200 OK\r\nContent-Length: \(parts[1])\r\n\r\nx")
      _ = try? socket.readSome()
      return false
    case "endless":
      try socket.write("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
      // The client stops reading.
      try? socket.write(String(repeating: "5\r\nhello\r\n", count: 40_000))
      return false
    case "multipart":
      let type = [("Content-Type", "multipart/x-mixed-replace; boundary=b")]
      try socket.write(
        TestOrigin.reply("200 OK", Array("--b\r\n\r\none\r\n--b\r\n\r\ntwo\r\n--b--\r\n".utf8), type))
    case "cached":
      try socket.write(TestOrigin.reply("200 OK", Self.large, [("Cache-Control", "max-age=600")]))
    default: try socket.write(TestOrigin.reply("200 OK", Self.large))
    }
    return true
  }

  init() throws { place = try .ofSuite() }

  private static func digest(_ bytes: [UInt8]) -> String {
    Hexadecimal.text(Array(SHA256.hash(data: bytes)))
  }
  private static let wrong = String(repeating: "0", count: 64)

  /// Runs a task with further members to its end.
  private func run(
    _ path: String, _ members: String, kind: String = "data", request: String = "",
    session: String = "ses_shared"
  ) throws -> JSONValue {
    let body =
      #"{"kind":"\#(kind)","resume":true,"request":{"url":"\#(origin.url)\#(path)"\#(request)},\#(members)}"#
    let reply = try place.call("POST", "/v1/sessions/\(session)/tasks", body)
    #expect(reply.status == 201, "\(reply.text)")
    return try place.end(of: reply.json.id)
  }

  private func types(_ task: JSONValue) throws -> [String] { try place.story(of: task.id).map(\.type) }

  @Test(arguments: ["data", "download"], [399, 400, 404, 500])
  func `status of 400 or more fails the task if it asks for that`(_ kind: String, _ status: Int) throws {
    let task = try run("/status/\(status)", #""failOnStatus":true"#, kind: kind)
    #expect(task.status == Int64(status) && task["failOnStatus"]?.bool == true)
    guard status >= 400 else {
      #expect(task["error"] == .null && task["body"]?["size"]?.integer == 6)
      return
    }
    let error = try #require(task["error"])
    #expect(error["domain"]?.string == "FerryErrorDomain" && error["code"]?.integer == 7)
    #expect(error["name"]?.string == "httpStatus" && error["status"]?.integer == Int64(status))
    #expect(error["resumeDataAvailable"]?.bool == false)
    if kind == "data" {
      #expect(try place.body(of: task.id) == Array("a page".utf8))
    } else {
      #expect(task["body"] == .null)
      #expect(try !types(task).contains("downloadTask.didFinishDownloading"))
      #expect(try place.call("GET", "/v1/tasks/\(task.id)/body").status == 404)
    }
  }

  @Test func `body of a failed status is delivered as a whole if the task asks for that`() throws {
    let task = try run("/status/404", #""failOnStatus":true,"prefersIncrementalDelivery":false"#)
    #expect(task.errorCode == 7)
    #expect(try place.body(of: task.id) == Array("a page".utf8))
  }

  @Test(arguments: ["data", "download", "upload"])
  func `expected body is accepted`(_ kind: String) throws {
    let digest = Self.digest(Self.large).uppercased()
    let task = try run(
      "/", #""expected":{"size":100000,"sha256":"\#(digest)"}"#, kind: kind,
      request: kind == "upload" ? #","body":{"text":"x"}"# : "")
    #expect(task["error"] == .null && task["body"]?["size"]?.integer == 100_000)
    #expect(task["expected"]?["sha256"]?.string == digest.lowercased())
    #expect(try place.body(of: task.id) == Self.large)
  }

  struct Mismatch: Sendable, CustomTestStringConvertible {
    let path: String
    let expected: String
    var testDescription: String { "\(path) \(expected)" }
  }

  @Test(
    arguments: [
      Mismatch(path: "/", expected: #"{"sha256":"\#(Self.wrong)"}"#),
      Mismatch(path: "/", expected: #"{"size":99999}"#), Mismatch(path: "/", expected: #"{"size":100001}"#),
      Mismatch(path: "/length/7", expected: #"{"size":8}"#),
      Mismatch(path: "/endless", expected: #"{"size":1000}"#),
      Mismatch(path: "/endless", expected: #"{"size":100000}"#),
      Mismatch(path: "/empty", expected: #"{"size":1}"#),
      Mismatch(path: "/empty", expected: #"{"sha256":"\#(Self.wrong)"}"#),
    ], ["data", "download"])
  func `unexpected body ends the task without a body`(_ mismatch: Mismatch, _ kind: String) throws {
    let task = try run(mismatch.path, #""expected":\#(mismatch.expected)"#, kind: kind)
    #expect(task.errorCode == 5 && task["error"]?["name"]?.string == "contentMismatch", "\(task)")
    #expect(task["body"] == .null && task["error"]?["resumeDataAvailable"]?.bool == false)
    #expect(task.status == (mismatch.path == "/empty" ? 204 : 200))
    #expect(try place.call("GET", "/v1/tasks/\(task.id)/body").status == 404)
    #expect(try place.call("GET", "/v1/tasks/\(task.id)/resume-data").status == 404)
  }

  @Test(arguments: ["/empty", "/length/0"]) func `empty body may be expected`(_ path: String) throws {
    let task = try run(path, #""expected":{"size":0,"sha256":"\#(Self.digest([]))"}"#)
    #expect(task["error"] == .null)
  }

  @Test func `other status than 2xx is httpStatus`() throws {
    for status in [302, 404] {
      #expect(try run("/status/\(status)", #""expected":{"size":6}"#).errorCode == 7)
    }
  }

  @Test func `parts of a multipart response are checked together`() throws {
    let digest = Self.digest(Array("onetwo".utf8))
    let right = try run("/multipart", #""expected":{"size":6,"sha256":"\#(digest)"}"#)
    #expect(right["error"] == .null && right["body"]?["sha256"]?.string == digest)
    #expect(try run("/multipart", #""expected":{"size":3}"#).errorCode == 5)
  }

  @Test func `unexpected cached body leaves the cache`() throws {
    let session = try place.session()
    let first = try run("/cached", #""failOnStatus":false"#, session: session)
    #expect(first["error"] == .null)
    let cached = try run("/cached", #""expected":{"size":100000}"#, session: session)
    #expect(cached["error"] == .null && cached["response"]?["fromCache"]?.bool == true)
    let count = origin.requests.count
    let wrong = #""expected":{"sha256":"\#(Self.wrong)"}"#
    #expect(try run("/cached", wrong, session: session).errorCode == 5)
    #expect(origin.requests.count == count)
    #expect(try run("/cached", wrong, session: session).errorCode == 5)
    #expect(origin.requests.count == count + 1)
  }

  // MARK: Resumed downloads

  private func resumed(
    _ origin: ResumableOrigin, expecting expected: String, replacing body: [UInt8]
  ) throws -> JSONValue {
    origin.change { $0.stop = 300_000 }
    let id = try place.stalled(origin.url, at: 300_000)
    let data = try #require(try place.cancelProducingResumeData(id).string)
    origin.change {
      $0.stop = nil
      $0.body = body
    }
    let request = #"{"kind":"download","resume":true,"resumeData":"\#(data)","expected":\#(expected)}"#
    return try place.call("POST", "/v1/tasks", request, [("Prefer", Patience.preference)]).json
  }

  @Test func `whole resumed body is checked`() throws {
    let origin = ResumableOrigin()
    let task = try resumed(
      origin, expecting: #"{"size":600000,"sha256":"\#(Self.digest(ResumableOrigin.body))"}"#,
      replacing: ResumableOrigin.body)
    #expect(task["error"] == .null && task.status == 206)
    #expect(try place.body(of: task.id) == ResumableOrigin.body)
  }

  /// The origin's validator does not change with its body.
  @Test func `resumed body with another digest is fetched once more from its start`() throws {
    let origin = ResumableOrigin()
    let digest = Self.digest(ResumableOrigin.otherBody)
    let task = try resumed(
      origin, expecting: #"{"sha256":"\#(digest)"}"#, replacing: ResumableOrigin.otherBody)
    #expect(task["error"] == .null && task.status == 200 && task["body"]?["sha256"]?.string == digest)
    #expect(origin.requests.map { $0["Range"] } == [nil, "bytes=300000-", nil])
    #expect(try place.body(of: task.id) == ResumableOrigin.otherBody)
    let wrong = ResumableOrigin()
    let ended = try resumed(
      wrong, expecting: #"{"sha256":"\#(Self.wrong)"}"#, replacing: ResumableOrigin.otherBody)
    #expect(ended.errorCode == 5 && ended["body"] == .null)
    #expect(wrong.requests.map { $0["Range"] } == [nil, "bytes=300000-", nil])
    #expect(try place.call("GET", "/v1/tasks/\(ended.id)/resume-data").status == 404)
  }

  /// An expired link answers a request for the rest with an error page.
  @Test func `refused status keeps the resume data of a resumed download`() throws {
    let origin = ResumableOrigin()
    origin.change { $0.rangeReply = .missing }
    let task = try resumed(origin, expecting: #"{"size":600000}"#, replacing: ResumableOrigin.body)
    #expect(task.errorCode == 7 && task["error"]?["resumeDataAvailable"]?.bool == true)
    let data = try #require(try place.resumeData(of: task.id))
    origin.change { $0.rangeReply = .rest }
    let again = try place.download(resuming: data)
    #expect(again["error"] == .null && again.status == 206)
    #expect(try place.body(of: again.id) == ResumableOrigin.body)
  }

  // MARK: Input

  @Test(arguments: [
    (#""failOnStatus":1"#, "/failOnStatus"), (#""expected":{}"#, "/expected"),
    (#""expected":[]"#, "/expected"), (#""expected":{"size":-1}"#, "/expected/size"),
    (#""expected":{"size":1125899906842625}"#, "/expected/size"),
    (#""expected":{"size":1.5}"#, "/expected/size"),
    (#""expected":{"sha256":"ab"}"#, "/expected/sha256"), (#""expected":{"sha256":7}"#, "/expected/sha256"),
    (#""expected":{"sha256":"\#(String(repeating: "g", count: 64))"}"#, "/expected/sha256"),
    (#""expected":{"size":1,"md5":"x"}"#, "/expected/md5"),
  ])
  func `wrong requirements are refused`(_ member: String, _ pointer: String) throws {
    let reply = try place.call(
      "POST", "/v1/tasks", #"{"kind":"data","request":{"url":"\#(origin.url)/"},\#(member)}"#)
    #expect(reply.status == 400 && reply.json["errors"]?.elements?.first?["pointer"]?.string == pointer)
  }

  @Test func `HEAD refuses an expected body`() throws {
    let body = #"{"kind":"data","request":{"url":"\#(origin.url)/","method":"head"},"expected":{"size":1}}"#
    let reply = try place.call("POST", "/v1/tasks", body)
    #expect(reply.status == 400 && reply.json["errors"]?.elements?.first?["pointer"]?.string == "/expected")
  }

  @Test func `requirements cannot be changed`() throws {
    let id = try place.create(origin.url, resume: false)
    for member in [#""failOnStatus":true"#, #""expected":{"size":1}"#] {
      #expect(try place.call("PATCH", "/v1/tasks/\(id)", "{\(member)}").status == 400)
    }
  }
}

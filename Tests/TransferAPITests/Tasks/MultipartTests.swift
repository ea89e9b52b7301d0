import Foundation
import JSON
import TestSupport
import Testing

/// multipart/x-mixed-replace (§5): each part has a response and its data, and the task ends once. URLSession on Linux
/// delivers the raw bytes with a single response.
@Suite(.serialized, .blocking, .sharing) struct MultipartTests {
  private let place: InProcessAPI
  private let origin: TestOrigin

  private static let large = NginxServer.contents(200_000)
  private static let type = "Content-Type: multipart/x-mixed-replace; boundary=frame\r\nX-Answer: yes\r\n\r\n"
  private static func part(_ index: Int, _ body: [UInt8]) -> [UInt8] {
    Array("--frame\r\nContent-Type: image/x\(index)\r\nX-Part: \(index)\r\n\r\n".utf8) + body
      + Array("\r\n".utf8)
  }
  private static let bodies = [Array("first".utf8), large, Array("\r\n--fram\r\n--frame-".utf8)]
  private static let parts = bodies.indices.flatMap { part($0, bodies[$0]) }
  private static let many = (0..<1000).map { [UInt8](String($0).utf8) }
  private static let end = Array("--frame--\r\n".utf8)

  init() throws {
    place = try .ofSuite()
    origin = TestOrigin { request, socket in
      let fields =
        request.path == "/cutInLastPart"
        ? "ETag: \"v1\"\r\nAccept-Ranges: bytes\r\nContent-Length: 900000\r\n" : ""
      try socket.write("HTTP/1.1 200 OK\r\n" + fields + Self.type)
      switch request.path {
      case "/whole": try socket.write(Array("a preamble\r\n".utf8) + Self.parts + Self.end)
      case "/open": try socket.write(Self.parts)
      case "/cutInDelimiter": try socket.write(Self.parts + Array("--fra".utf8))
      case "/pieces":
        let all = Self.part(0, Self.bodies[0]) + Self.part(1, Self.bodies[2]) + Self.end
        for byte in all { try socket.write([byte]) }
      case "/empty": try socket.write(Self.part(0, []) + Self.end)
      case "/many": try socket.write(Self.many.indices.flatMap { Self.part($0, Self.many[$0]) } + Self.end)
      case "/none": break
      case "/cutInLastPart": try socket.write(Self.part(0, Self.bodies[0]) + Self.part(1, Self.large))
      case "/hugeHeader":
        try socket.write(Self.part(0, Self.bodies[0]))
        try socket.write("--frame\r\nX-Long: " + String(repeating: "x", count: 17 * 1024) + "\r\n\r\nbody")
        _ = try socket.readSome()
      default: break
      }
      return false
    }
  }

  struct Part: Equatable {
    var mimeType: String?
    var number: String?
    var bytes: [UInt8] = []
  }

  /// Runs a task. Returns the parts that its events report, and the last event.
  private func parts(
    _ path: String, session: String = "ses_shared", answer: (Int) -> String? = { _ in nil }
  ) throws -> (parts: [Part], end: EventReader.Event?, id: String) {
    let id = try place.create(origin.url + path, session: session, resume: false)
    let events = try place.events("/v1/tasks/\(id)/events?data=inline")
    _ = try place.act("resume", id)
    var parts: [Part] = []
    while let event = try events.next() {
      switch event.type {
      case "dataTask.didReceiveResponse":
        let response = event.data["response"]
        #expect(response?["headers"]?["X-Answer"]?.string == "yes" && response?["status"]?.integer == 200)
        parts.append(
          Part(mimeType: response?["mimeType"]?.string, number: response?["headers"]?["X-Part"]?.string))
        guard let disposition = answer(parts.count), let decision = event.data["decisionId"]?.string else {
          break
        }
        let reply = try place.call(
          "POST", "/v1/decisions/\(decision)", #"{"disposition":"\#(disposition)"}"#)
        #expect(reply.status == 200)
      case "dataTask.didReceiveData":
        let piece = event.data["data"]?.string.flatMap { Data(base64Encoded: $0) }
        try #require(!parts.isEmpty)
        parts[parts.count - 1].bytes += try #require(piece)
      case "task.didComplete", "dataTask.didBecomeDownloadTask": return (parts, event, id)
      default: break
      }
    }
    return (parts, nil, id)
  }

  private static func expected(_ bodies: [[UInt8]]) -> [Part] {
    bodies.enumerated().map { Part(mimeType: "image/x\($0)", number: "\($0)", bytes: $1) }
  }

  @Test(arguments: ["/whole", "/open"]) func `every part has response and data`(_ path: String) throws {
    let (parts, end, id) = try parts(path)
    // The line end before a delimiter belongs to the delimiter. Without a delimiter it belongs to the body.
    var bodies = Self.bodies
    if path == "/open" { bodies[2] += Array("\r\n".utf8) }
    #expect(parts == Self.expected(bodies))
    #expect(end?.data["error"] == .null)
    // The stored events contain the responses and a single end.
    let story = try place.story(of: id)
    #expect(story.filter { $0.type == "dataTask.didReceiveResponse" }.count == 3)
    #expect(story.filter { $0.type == "task.didComplete" }.count == 1)
    let task = try place.task(id)
    #expect(task["response"]?["mimeType"]?.string == "image/x2")
    #expect(try place.body(of: id) == bodies.flatMap { $0 })
  }

  @Test func `boundary may arrive byte by byte`() throws {
    let (parts, end, _) = try parts("/pieces")
    #expect(parts == Self.expected([Self.bodies[0], Self.bodies[2]]))
    #expect(end?.data["error"] == .null)
  }

  @Test func `part may be empty`() throws {
    let (parts, end, _) = try parts("/empty")
    #expect(parts == Self.expected([[]]) && end?.data["error"] == .null)
  }

  /// More parts than the limit arrive at once. The rest wait for stored events, even after the origin has sent
  /// everything.
  @Test func manyPartsAreReportedInOrder() throws {
    let (parts, end, _) = try parts("/many")
    #expect(parts == Self.expected(Self.many) && end?.data["error"] == .null)
  }

  /// At the end of the response, the beginning of a delimiter belongs to the body.
  @Test func `incomplete delimiter belongs to the body`() throws {
    let (parts, end, _) = try parts("/cutInDelimiter")
    #expect(parts.count == 3 && end?.data["error"] == .null)
    #expect(parts.last?.bytes.starts(with: Self.bodies[2]) == true)
  }

  /// A successful task reports a response, here that of the message itself.
  @Test func `multipart response without parts is empty`() throws {
    let (parts, end, id) = try parts("/none")
    #expect(parts.count == 1 && parts.first?.number == nil && parts.first?.bytes.isEmpty == true)
    #expect(end?.data["error"] == .null && end?.data["status"]?.integer == 200)
    #expect(try place.task(id)["response"]?["status"]?.integer == 200)
  }

  /// urlSession(_:dataTask:didReceive:completionHandler:), #3236: there is a decision for each part.
  @Test func `delegate decides about every part`() throws {
    let session = try place.session(delegate: #"{"responses":"ask"}"#)
    let (parts, end, id) = try parts("/whole", session: session) { _ in "allow" }
    #expect(parts == Self.expected(Self.bodies) && end?.data["error"] == .null)
    let decisions = try place.call("GET", "/v1/sessions/\(session)/decisions").json["items"]?.elements
    #expect(decisions?.count == 3 && decisions?.allSatisfy { $0["state"]?.string == "answered" } == true)
    #expect(try place.task(id)["state"]?.string == "completed")
  }

  @Test func `delegate may cancel at a part`() throws {
    let session = try place.session(delegate: #"{"responses":"ask"}"#)
    let (parts, end, _) = try parts("/whole", session: session) { $0 == 2 ? "cancel" : "allow" }
    #expect(parts.count == 2 && parts.first == Self.expected(Self.bodies)[0])
    #expect(parts.last?.bytes.isEmpty == true)
    #expect(end?.data["error"]?["code"]?.integer == -999)
  }

  /// The file begins with the part at which the task became a download.
  @Test(arguments: 1...3) func `task may become a download at a part`(_ number: Int) throws {
    let session = try place.session(delegate: #"{"responses":"ask"}"#)
    let (parts, end, _) = try parts("/whole", session: session) { $0 == number ? "becomeDownload" : "allow" }
    #expect(parts.dropLast() == Self.expected(Self.bodies).prefix(number - 1))
    let id = try #require(end?.data["downloadTaskId"]?.string)
    let download = try place.end(of: id)
    let expected = Self.bodies[(number - 1)...].flatMap(\.self)
    #expect(download["error"] == .null && download.received == Int64(expected.count))
    #expect(try place.body(of: id) == expected)
  }

  /// The offset of the part in the response is unknown.
  @Test(arguments: 1...2) func `download from a part is not resumable`(_ number: Int) throws {
    let session = try place.session(delegate: #"{"responses":"ask"}"#)
    let (_, end, _) = try parts("/cutInLastPart", session: session) {
      $0 == number ? "becomeDownload" : "allow"
    }
    let id = try #require(end?.data["downloadTaskId"]?.string)
    let download = try place.end(of: id)
    #expect(download.errorCode == -1005 && download["error"]?["resumeDataAvailable"]?.bool == false)
    #expect(try place.call("GET", "/v1/tasks/\(id)/resume-data").status == 404)
  }

  @Test func `part with a head above the limit is an error`() throws {
    let (parts, end, _) = try parts("/hugeHeader")
    #expect(parts == Self.expected([Self.bodies[0]]))
    #expect(end?.data["error"]?["code"]?.integer == -1017)
  }

  @Test func `multipart download keeps the raw bytes`() throws {
    let task = try place.run(origin.url + "/whole")
    #expect(task["error"] == .null)
    #expect(task["response"]?["mimeType"]?.string == "multipart/x-mixed-replace")
    #expect(try place.body(of: task.id) == Array("a preamble\r\n".utf8) + Self.parts + Self.end)
  }
}

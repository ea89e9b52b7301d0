import JSON
import Synchronization
import TestSupport
import Testing

/// Resumed downloads from servers that return shorter, longer or other ranges than requested. The body belongs to a
/// single version, or the task ends with an error (RFC 9110 §14 and §15.3.7).
@Suite(.serialized, .blocking, .sharing) struct PartialResponseTests {
  private let place: InProcessAPI
  private static let body = [UInt8](0..<104)
  private static let other = [UInt8](100..<204)
  private static let tag = "ETag: \"v1\"\r\n"
  private static let date = "Sat, 21 Nov 2026 07:00:00 GMT"

  init() throws { place = try .ofSuite() }

  /// A response to one request: its head without the HTTP version, and the bytes of its body.
  struct Answer: Sendable {
    var head: String
    var body: ArraySlice<UInt8>
    var closes = false

    init(_ head: String, _ body: ArraySlice<UInt8>, closes: Bool = false) {
      (self.head, self.body, self.closes) = (head, body, closes)
    }

    /// Makes a 206 with a `Content-Length`.
    static func part(_ range: String, _ body: ArraySlice<UInt8>, _ fields: String = tag) -> Answer {
      Answer(
        "206 Partial Content\r\nContent-Range: bytes \(range)\r\nContent-Length: \(body.count)\r\n\(fields)",
        body)
    }

    /// Makes a 206 with one complete chunk.
    static func chunked(_ range: String, _ body: ArraySlice<UInt8>) -> Answer {
      let chunk = Array((String(body.count, radix: 16) + "\r\n").utf8) + body + Array("\r\n0\r\n\r\n".utf8)
      return Answer(
        "206 Partial Content\r\nContent-Range: bytes \(range)\r\nTransfer-Encoding: chunked\r\n\(tag)",
        chunk[...])
    }

    static func whole(_ body: [UInt8], _ fields: String = tag) -> Answer {
      Answer("200 OK\r\nContent-Length: \(body.count)\r\n\(fields)", body[...])
    }
  }

  /// Makes an origin that sends these responses in order and repeats the last.
  private static func origin(_ answers: [Answer]) -> TestOrigin {
    let count = Mutex(0)
    return TestOrigin { _, socket in
      let index = count.withLock { count in
        defer { count += 1 }
        return min(count, answers.count - 1)
      }
      let answer = answers[index]
      try socket.write(Array("HTTP/1.1 \(answer.head)\r\n".utf8) + answer.body)
      return !answer.closes
    }
  }

  private static func broken(_ fields: String = tag) -> Answer {
    Answer("200 OK\r\nContent-Length: 104\r\nAccept-Ranges: bytes\r\n\(fields)", body[..<40], closes: true)
  }
  private static let brokenOfUnknownLength = Answer(
    "200 OK\r\nTransfer-Encoding: chunked\r\nAccept-Ranges: bytes\r\n\(tag)",
    Array("28\r\n".utf8) + body[..<40],
    closes: true)

  /// The responses to a resumed task, and its expected end.
  struct Case: Sendable {
    var answers: [Answer]
    /// The `Range` of each resumed request. `nil` requests the whole.
    var ranges: [String?]
    var result: [UInt8]?
    var code: Int64?
    var resumesAt: String?
    var first = broken()
  }

  private static let cases: [String: Case] = [
    "short and without a total": Case(
      answers: [.part("40-59/*", body[40..<60]), .part("60-103/104", body[60...])],
      ranges: ["bytes=40-", "bytes=60-"], result: body),
    "shorter than its range": Case(
      answers: [.part("40-103/104", body[40..<60]), .part("60-103/104", body[60...])],
      ranges: ["bytes=40-", "bytes=60-"], result: body),
    "shorter than its range, in chunks": Case(
      answers: [.chunked("40-103/104", body[40..<60]), .part("60-103/104", body[60...])],
      ranges: ["bytes=40-", "bytes=60-"], result: body),
    "as multipart": Case(
      answers: (40..<104).map { .part("\($0)-\($0)/*", body[$0..<($0 + 1)]) },
      ranges: (40..<104).map { "bytes=\($0)-" }, result: body),
    "longer than its range": Case(
      answers: [.chunked("40-103/104", body[40...] + [1, 2, 3, 4, 5]), .whole(body)],
      ranges: ["bytes=40-", nil],
      result: body),
    "longer than its range, with its length": Case(
      answers: [.part("40-103/104", body[40...] + [1, 2, 3, 4, 5]), .whole(other)],
      ranges: ["bytes=40-", nil],
      result: other),
    "with a larger total": Case(
      answers: [.part("40-113/114", body[40...] + [UInt8](repeating: 7, count: 10)), .whole(body + [1])],
      ranges: ["bytes=40-", nil], result: body + [1]),
    "with a smaller total": Case(
      answers: [.part("40-59/60", body[40..<60]), .whole(Array(body[..<60]))], ranges: ["bytes=40-", nil],
      result: Array(body[..<60])),
    "a 200 with only the rest": Case(
      answers: [
        Answer("200 OK\r\nContent-Range: bytes 40-103/104\r\nContent-Length: 64\r\n\(tag)", body[40...]),
        .whole(body),
      ], ranges: ["bytes=40-", nil], result: body),
    "a 200 with a meaningless Content-Range": Case(
      answers: [
        .part("39-103/104", body[39...]), .whole(body, "Content-Range: bytes 40-103/104\r\n" + tag),
      ], ranges: ["bytes=40-", nil], result: body),
    "with a different validator": Case(
      answers: [.part("40-103/104", other[40...], "ETag: \"v2\"\r\n"), .whole(other, "ETag: \"v2\"\r\n")],
      ranges: ["bytes=40-", nil], result: other),
    "without a total from the start": Case(
      answers: [
        .part("40-103/*", body[40...]),
        Answer("416 Nope\r\nContent-Range: bytes */104\r\nContent-Length: 2\r\n", [1, 2]),
      ], ranges: ["bytes=40-", "bytes=104-"], result: body, first: brokenOfUnknownLength),
    "changed between two ranges": Case(
      answers: [
        .part("40-59/*", body[40..<60]), .whole(other, "ETag: \"v2\"\r\n"), .whole(other, "ETag: \"v2\"\r\n"),
      ],
      ranges: ["bytes=40-", "bytes=60-", nil], result: other),
    "two mismatches": Case(
      answers: [.part("40-59/60", body[40..<60])], ranges: ["bytes=40-", nil], code: -1017),
    "an error instead of the rest": Case(
      answers: [.part("40-59/*", body[40..<60]), Answer("503 Busy\r\nContent-Length: 2\r\n", [1, 2])],
      ranges: ["bytes=40-", "bytes=60-"], code: -1005, resumesAt: "bytes=60-"),
    "an empty rest": Case(
      answers: [.part("40-59/*", body[40..<60]), .part("60-103/104", [])],
      ranges: ["bytes=40-", "bytes=60-"],
      code: -1005, resumesAt: "bytes=60-"),
    "interrupted again": Case(
      answers: [
        Answer(
          "206 P\r\nContent-Range: bytes 40-103/104\r\nContent-Length: 64\r\n\(tag)", body[40..<50],
          closes: true)
      ], ranges: ["bytes=40-"], code: -1005, resumesAt: "bytes=50-"),
  ]

  @Test(arguments: cases.keys.sorted()) func `resumed download yields one version`(_ name: String) throws {
    let trial = try #require(Self.cases[name])
    let origin = Self.origin([trial.first] + trial.answers)
    let cut = try place.run(origin.url)
    #expect(cut.errorCode == -1005 && cut["error"]?["resumeDataAvailable"]?.bool == true)
    let task = try place.download(resuming: #require(try place.resumeData(of: cut.id)))
    #expect(origin.requests.dropFirst().map { $0["Range"] } == trial.ranges)
    #expect(
      origin.requests.dropFirst().map { $0["If-Range"] } == trial.ranges.map { $0 == nil ? nil : "\"v1\"" })
    guard let result = trial.result else {
      #expect(task.errorCode == trial.code)
      #expect(task["error"]?["resumeDataAvailable"]?.bool == (trial.resumesAt != nil))
      #expect(task["body"] == .null)
      guard let range = trial.resumesAt else { return }
      _ = try place.download(resuming: #require(try place.resumeData(of: task.id)))
      #expect(origin.requests[trial.ranges.count + 1]["Range"] == range)
      return
    }
    #expect(task["error"] == .null && [200, 206].contains(task["response"]?["status"]?.integer))
    #expect(try place.body(of: task.id) == result && task.received == Int64(result.count))
    #expect(try place.offsets(of: task.id).count == 1)
    // A small body is returned inline, even if it was joined from parts.
    let inline = try place.call("GET", "/v1/tasks/\(task.id)?include=body").json["body"]
    #expect(inline?["base64"]?.string != nil || inline?["text"]?.string != nil)
  }

  /// `bytesWritten` is the number of bytes since the last call, across ranges too.
  @Test func `bytes of further ranges are reported as written`() throws {
    let origin = Self.origin([
      Self.broken(), .part("40-59/*", Self.body[40..<60]), .part("60-103/104", Self.body[60...]),
    ])
    let data = try #require(try place.resumeData(of: place.run(origin.url).id))
    let task = #"{"kind":"download","resume":false,"resumeData":"\#(data)"}"#
    let id = try place.call("POST", "/v1/tasks", task).json.id
    let events = try place.events("/v1/tasks/\(id)/events")
    _ = try place.act("resume", id)
    let calls = try events.read(upTo: "task.didComplete").filter { $0.type == "downloadTask.didWriteData" }
    // For a slow reader, only the newest progress event is kept.
    #expect(calls.compactMap { $0.data["bytesWritten"]?.integer }.reduce(0, +) <= 64)
    #expect(calls.last?.data["totalBytesWritten"]?.integer == 104)
    withExtendedLifetime(origin) {}
  }

  /// An ETag identifies versions of a single resource. A redirect may lead to another resource with an equal ETag.
  @Test(arguments: [("/a?signature=2", true), ("/b", false)])
  func downloadContinuesFromTheSameResource(_ target: String, _ isSame: Bool) throws {
    let count = Mutex(0)
    let origin = TestOrigin { request, socket in
      if request.path == "/start" {
        let isFirst = count.withLock { count in
          defer { count += 1 }
          return count == 0
        }
        let location = ("Location", isFirst ? "/a?signature=1" : target)
        try socket.write(TestOrigin.reply("302 Found", [], [location]))
        return true
      }
      let isFirst = request.path == "/a?signature=1"
      let answer =
        isFirst
        ? Self.broken()
        : request["Range"] == nil
          ? .whole(Self.other) : .part("40-103/104", (isSame ? Self.body : Self.other)[40...])
      try socket.write(Array("HTTP/1.1 \(answer.head)\r\n".utf8) + answer.body)
      return !isFirst
    }
    let cut = try place.run(origin.url + "/start")
    let task = try place.download(resuming: #require(try place.resumeData(of: cut.id)))
    #expect(task["error"] == .null)
    #expect(try place.body(of: task.id) == (isSame ? Self.body : Self.other))
  }

  /// An unrequested 206 is a part, not the beginning of the whole.
  @Test func unrequestedPartHasNoResumeData() throws {
    let part = Answer(
      "206 Partial Content\r\nContent-Range: bytes 100-203/204\r\nContent-Length: 104\r\n\(Self.tag)",
      Self.body[..<40], closes: true)
    let origin = Self.origin([part])
    let cut = try place.run(origin.url)
    #expect(cut.errorCode == -1005 && cut["error"]?["resumeDataAvailable"]?.bool == false)
  }

  /// `Transfer-Encoding` overrides `Content-Length` (RFC 9112 §6.3).
  @Test func chunkedResponseHasNoLength() throws {
    let answer = Answer(
      "200 OK\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n",
      Array("5\r\nhello\r\n0\r\n\r\n".utf8)[...])
    let origin = Self.origin([answer])
    let task = try place.run(origin.url)
    #expect(task["response"]?["expectedContentLength"]?.integer == -1)
    #expect(try place.body(of: task.id) == Array("hello".utf8))
  }

  /// A weak tag, a date with a weak tag, or a date of unknown age does not identify a version.
  @Test(arguments: [
    "ETag: W/\"a\"\r\nLast-Modified: \(date)\r\nDate: Sun, 22 Nov 2026 07:00:00 GMT\r\n", "ETag: W/\"a\"\r\n",
    "Last-Modified: \(date)\r\n", "Last-Modified: \(date)\r\nDate: \(date)\r\n",
    "ETag: \"a\"\r\nETag: \"b\"\r\n", "",
  ]) func downloadWithoutStrongValidatorHasNoResumeData(_ fields: String) throws {
    let origin = Self.origin([Self.broken(fields)])
    let cut = try place.run(origin.url)
    #expect(cut.errorCode == -1005 && cut["error"]?["resumeDataAvailable"]?.bool == false)
    #expect(try place.call("GET", "/v1/tasks/\(cut.id)/resume-data").status == 404)
  }

  /// An origin that sends one byte at a time gets at most 1,000 further requests.
  @Test func `further ranges of a task are limited`() throws {
    let origin = TestOrigin { request, socket in
      guard let first = request["Range"].flatMap({ Int($0.dropFirst(6).dropLast()) }) else {
        try socket.write(
          "HTTP/1.1 200 OK\r\nContent-Length: 5000\r\nAccept-Ranges: bytes\r\n\(Self.tag)\r\na")
        return false
      }
      let head =
        "HTTP/1.1 206 P\r\nContent-Range: bytes \(first)-4999/5000\r\nContent-Length: 1\r\n\(Self.tag)\r\na"
      try socket.write(head)
      return true
    }
    let cut = try place.run(origin.url)
    let task = try place.download(resuming: #require(try place.resumeData(of: cut.id)))
    #expect(task.errorCode == -1005 && task["error"]?["resumeDataAvailable"]?.bool == true)
    #expect(task.received == 1002 && origin.requests.count == 1002)
  }
}

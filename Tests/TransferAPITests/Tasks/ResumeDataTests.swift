import JSON
import TestSupport
import Testing

/// Resume data (§1b downloadTask(withResumeData:), §2 row 8): a download continues another download. On Linux,
/// URLSession always returns `nil`, and its tasks crash.
@Suite(.serialized, .blocking, .sharing) struct ResumeDataTests {
  private let place: InProcessAPI
  private let origin = ResumableOrigin()
  private let size = Int64(ResumableOrigin.body.count)

  init() throws { place = try .ofSuite() }

  /// Cancels a download after `count` bytes and returns its resume data. The origin then sends the rest.
  private func resumeData(at count: Int = 300_000) throws -> String {
    origin.change { $0.stop = count }
    let id = try place.stalled(origin.url, at: count)
    let data = try #require(try place.cancelProducingResumeData(id).string)
    #expect(try place.task(id).errorCode == -999)
    #expect(try place.task(id)["error"]?["resumeDataAvailable"]?.bool == true)
    origin.change { $0.stop = nil }
    return data
  }

  /// Expects that the task requested the rest and has the whole body.
  private func expectRest(_ task: JSONValue, from offset: Int, ifRange: String = "\"one\"") throws {
    #expect(task["error"] == .null && task["response"]?["status"]?.integer == 206)
    let request = try #require(origin.requests.last)
    #expect(request["Range"] == "bytes=\(offset)-" && request["If-Range"] == ifRange)
    #expect(try place.offsets(of: task.id) == [[Int64(offset), size]])
    try expectAll(task, ResumableOrigin.body)
  }

  private func expectAll(_ task: JSONValue, _ body: [UInt8]) throws {
    let size = Int64(body.count)
    #expect(task["error"] == .null && task["body"]?["size"]?.integer == size)
    #expect(task.received == size && task["progress"]?["countOfBytesExpectedToReceive"]?.integer == size)
    #expect(task["progress"]?["fractionCompleted"]?.double == 1)
    #expect(try place.body(of: task.id) == body)
  }

  struct Version: Sendable {
    let validators: [(String, String)]
    let ifRange: String
  }

  @Test(arguments: [
    Version(validators: [("ETag", "\"one\"")], ifRange: "\"one\""),
    Version(
      validators: [
        ("Last-Modified", "Fri, 20 Nov 2026 10:00:00 GMT"), ("Date", "Fri, 20 Nov 2026 10:00:01 GMT"),
      ],
      ifRange: "Fri, 20 Nov 2026 10:00:00 GMT"),
    Version(validators: [("ETag", "\"one\""), ("ETag", "\"one\"")], ifRange: "\"one\""),
  ]) func `cancelled download continues from its offset`(_ version: Version) throws {
    origin.change { $0.validators = version.validators }
    let data = try resumeData()
    try expectRest(place.download(resuming: data), from: 300_000, ifRange: version.ifRange)
  }

  /// urlSession(_:downloadTask:didWriteData:…) counts the bytes that this download wrote.
  @Test func `resumed bytes do not count as written`() throws {
    let data = try resumeData()
    let body = #"{"kind":"download","resumeData":"\#(data)"}"#
    let id = try place.call("POST", "/v1/tasks", body).json.id
    let events = try place.events("/v1/tasks/\(id)/events?after=0")
    try events.catchUp()
    #expect(try place.act("resume", id) == "running")
    let written = try events.read(upTo: "task.didComplete").filter { $0.type == "downloadTask.didWriteData" }
    #expect(written.reduce(0) { $0 + ($1.data["bytesWritten"]?.integer ?? 0) } == size - 300_000)
    #expect(written.last?.data["totalBytesWritten"]?.integer == size)
  }

  /// A part that was kept in memory becomes a file.
  @Test(arguments: [1, 10_000, 32_768, 32_769]) func `small part is kept for resuming`(_ count: Int) throws {
    try expectRest(place.download(resuming: resumeData(at: count)), from: count)
  }

  /// NSURLSessionDownloadTaskResumeData in the error's userInfo.
  @Test func `failed download can be resumed`() throws {
    origin.change {
      $0.stop = 300_000
      $0.cuts = true
    }
    let cut = try place.run(origin.url)
    #expect(cut.errorCode == -1005 && cut["error"]?["resumeDataAvailable"]?.bool == true)
    #expect(cut["body"] == .null)
    let data = try #require(try place.resumeData(of: cut.id))
    origin.change { $0.stop = nil }
    try expectRest(place.download(resuming: data), from: 300_000)
  }

  @Test func `download can be resumed twice`() throws {
    let first = try resumeData(at: 100_000)
    origin.change {
      $0.stop = 400_000
      $0.cuts = true
    }
    let cut = try place.download(resuming: first)
    #expect(cut.errorCode == -1005 && cut.received == 400_000)
    #expect(try place.offsets(of: cut.id) == [[100_000, size]])
    let second = try #require(try place.resumeData(of: cut.id))
    origin.change { $0.stop = nil }
    try expectRest(place.download(resuming: second), from: 400_000)
  }

  // MARK: Changed resource

  @Test(arguments: [ResumableOrigin.RangeReply.whole, .otherVersion, .otherStart, .notSatisfiable])
  func `changed resource is loaded from the start`(_ reply: ResumableOrigin.RangeReply) throws {
    let data = try resumeData()
    origin.change {
      $0.validators = [("ETag", "\"two\"")]
      $0.body = ResumableOrigin.otherBody
      $0.rangeReply = reply
    }
    let task = try place.download(resuming: data)
    #expect(task["response"]?["status"]?.integer == 200)
    #expect(try place.offsets(of: task.id) == [[0, size]])
    try expectAll(task, ResumableOrigin.otherBody)
    #expect(origin.requests.dropFirst().first?["Range"] == "bytes=300000-")
    if reply != .whole { #expect(origin.requests.last?["Range"] == nil) }
  }

  /// The first use has consumed the temporary file.
  @Test func `resume data used twice loads from the start`() throws {
    let data = try resumeData()
    try expectRest(place.download(resuming: data), from: 300_000)
    let again = try place.download(resuming: data)
    #expect(try place.offsets(of: again.id) == [[0, size]])
    #expect(origin.requests.last?["Range"] == nil)
    try expectAll(again, ResumableOrigin.body)
  }

  // MARK: Valid resume data

  @Test func `resume data stay valid if the origin is down`() throws {
    let data = try resumeData()
    origin.change { $0.rangeReply = .nothing }
    let failed = try place.download(resuming: data)
    #expect(failed.errorCode == -1011 && failed["error"]?["resumeDataAvailable"]?.bool == true)
    let itsOwn = try #require(try place.resumeData(of: failed.id))
    #expect(try place.download(resuming: itsOwn).errorCode == -1011)
    origin.change { $0.rangeReply = .rest }
    try expectRest(place.download(resuming: data), from: 300_000)
  }

  /// As with every task, an error response is the result. The partial download is kept.
  @Test func `resume data stay valid after an error response`() throws {
    let data = try resumeData()
    origin.change { $0.rangeReply = .missing }
    let page = try place.download(resuming: data)
    #expect(page["error"] == .null && page["response"]?["status"]?.integer == 404)
    #expect(try place.body(of: page.id) == Array("a page".utf8))
    #expect(try place.offsets(of: page.id).isEmpty)
    origin.change { $0.rangeReply = .rest }
    try expectRest(place.download(resuming: data), from: 300_000)
  }
}

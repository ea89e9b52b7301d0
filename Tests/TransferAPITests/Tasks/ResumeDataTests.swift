import JSON
import TestSupport
import Testing

/// Resume data (§1b downloadTask(withResumeData:), §2 row 8: the peer's is always nil, and its tasks crash): a download
/// goes on where another stopped.
@Suite(.serialized, .blocking, .sharing) struct ResumeDataTests {
  private let place: APIPlace
  private let origin = ResumableOrigin()
  private let size = Int64(ResumableOrigin.body.count)

  init() throws { place = try .ofSuite() }

  /// Resume data of a download that was cancelled after `count` bytes; then the origin goes on to the end.
  private func resumeData(at count: Int = 300_000) throws -> String {
    origin.change { $0.stop = count }
    let id = try place.stalled(origin.url, at: count)
    let data = try #require(try place.cancelProducingResumeData(id).string)
    #expect(try place.task(id).errorCode == -999)
    #expect(try place.task(id)["error"]?["resumeDataAvailable"]?.bool == true)
    origin.change { $0.stop = nil }
    return data
  }

  /// It asked for the rest, got it, and has all.
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
  ]) func aCancelledDownloadGoesOnWhereItStopped(_ version: Version) throws {
    origin.change { $0.validators = version.validators }
    let data = try resumeData()
    try expectRest(place.download(resuming: data), from: 300_000, ifRange: version.ifRange)
  }

  /// didWriteData tells of what this download wrote, and of no byte that was there before.
  @Test func whatWasThereIsNotCountedAsWritten() throws {
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

  /// What never needed a file of its own gets one.
  @Test(arguments: [1, 10_000, 32_768, 32_769]) func aSmallPartIsKept(_ count: Int) throws {
    try expectRest(place.download(resuming: resumeData(at: count)), from: count)
  }

  /// NSURLSessionDownloadTaskResumeData in the error's userInfo.
  @Test func aDownloadThatFailsCanGoOn() throws {
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

  @Test func aDownloadCanGoOnInThreeLegs() throws {
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

  // MARK: What was kept does not fit any more

  @Test(arguments: [ResumableOrigin.RangeReply.whole, .otherVersion, .otherStart, .notSatisfiable])
  func aResourceThatHasChangedComesFromItsStart(_ reply: ResumableOrigin.RangeReply) throws {
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

  /// The temporary file has gone to the first.
  @Test func resumeDataThatIsUsedTwiceStartsFromZero() throws {
    let data = try resumeData()
    try expectRest(place.download(resuming: data), from: 300_000)
    let again = try place.download(resuming: data)
    #expect(try place.offsets(of: again.id) == [[0, size]])
    #expect(origin.requests.last?["Range"] == nil)
    try expectAll(again, ResumableOrigin.body)
  }

  // MARK: What was kept stays good

  @Test func resumeDataStaysGoodWhereTheOriginIsDown() throws {
    let data = try resumeData()
    origin.change { $0.rangeReply = .nothing }
    let failed = try place.download(resuming: data)
    #expect(failed.errorCode == -1011 && failed["error"]?["resumeDataAvailable"]?.bool == true)
    let itsOwn = try #require(try place.resumeData(of: failed.id))
    #expect(try place.download(resuming: itsOwn).errorCode == -1011)
    origin.change { $0.rangeReply = .rest }
    try expectRest(place.download(resuming: data), from: 300_000)
  }

  /// An error's page is the result, as everywhere; the bytes are still there.
  @Test func resumeDataStaysGoodWhereTheOriginAnswersWithAnError() throws {
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

import Foundation
import JSON
import TestSupport
import Testing

/// Resume data (§1b downloadTask(withResumeData:), §2 row 8: the peer's is always nil, and its tasks crash): a download
/// goes on where another stopped.
@Suite(.serialized, .blocking) struct ResumeDataTests {
  private let ferry: FerryProcess
  private let origin = ResumableOrigin()
  private let size = Int64(ResumableOrigin.body.count)

  init() throws { ferry = try FerryProcess() }

  /// Resume data of a download that was cancelled after `count` bytes; then the origin goes on to the end.
  private func resumeData(at count: Int = 300_000) throws -> String {
    origin.change { $0.stop = count }
    let id = try ferry.stalled(origin.url, at: count)
    let data = try #require(try ferry.cancelProducingResumeData(id).string)
    #expect(try ferry.task(id).errorCode == -999)
    #expect(try ferry.task(id)["error"]?["resumeDataAvailable"]?.bool == true)
    origin.change { $0.stop = nil }
    return data
  }

  /// It asked for the rest, got it, and has all.
  private func expectRest(_ task: JSONValue, from offset: Int, ifRange: String = "\"one\"") throws {
    #expect(task["error"] == .null && task["response"]?["status"]?.integer == 206)
    let request = try #require(origin.requests.last)
    #expect(request["Range"] == "bytes=\(offset)-" && request["If-Range"] == ifRange)
    #expect(try ferry.offsets(of: task.id) == [[Int64(offset), size]])
    try expectAll(task, ResumableOrigin.body)
  }

  private func expectAll(_ task: JSONValue, _ body: [UInt8]) throws {
    let size = Int64(body.count)
    #expect(task["error"] == .null && task["body"]?["size"]?.integer == size)
    #expect(task.received == size && task["progress"]?["countOfBytesExpectedToReceive"]?.integer == size)
    #expect(task["progress"]?["fractionCompleted"]?.double == 1)
    #expect(try ferry.body(of: task.id) == body)
  }

  struct Version: Sendable {
    let validators: [(String, String)]
    let ifRange: String
  }

  @Test(arguments: [
    Version(validators: [("ETag", "\"one\"")], ifRange: "\"one\""),
    Version(
      validators: [("Last-Modified", "Fri, 20 Nov 2026 10:00:00 GMT")],
      ifRange: "Fri, 20 Nov 2026 10:00:00 GMT"),
    Version(
      validators: [("ETag", "W/\"weak\""), ("Last-Modified", "Fri, 20 Nov 2026 10:00:00 GMT")],
      ifRange: "Fri, 20 Nov 2026 10:00:00 GMT"),
  ]) func aCancelledDownloadGoesOnWhereItStopped(_ version: Version) throws {
    origin.change { $0.validators = version.validators }
    let data = try resumeData()
    try expectRest(ferry.download(resuming: data), from: 300_000, ifRange: version.ifRange)
  }

  /// didWriteData tells of what this download wrote, and of no byte that was there before.
  @Test func whatWasThereIsNotCountedAsWritten() throws {
    let data = try resumeData()
    let body = #"{"kind":"download","resumeData":"\#(data)"}"#
    let id = try ferry.call("POST", "/v1/tasks", body).json.id
    let events = try ferry.events("/v1/tasks/\(id)/events?after=0")
    #expect(try ferry.act("resume", id) == "running")
    let written = try events.read(upTo: "task.didComplete").filter { $0.type == "downloadTask.didWriteData" }
    #expect(written.reduce(0) { $0 + ($1.data["bytesWritten"]?.integer ?? 0) } == size - 300_000)
    #expect(written.last?.data["totalBytesWritten"]?.integer == size)
  }

  /// What never needed a file of its own gets one.
  @Test(arguments: [1, 10_000, 32_768, 32_769]) func aSmallPartIsKept(_ count: Int) throws {
    try expectRest(ferry.download(resuming: resumeData(at: count)), from: count)
  }

  /// NSURLSessionDownloadTaskResumeData in the error's userInfo.
  @Test func aDownloadThatFailsCanGoOn() throws {
    origin.change {
      $0.stop = 300_000
      $0.cuts = true
    }
    let cut = try ferry.run(origin.url)
    #expect(cut.errorCode == -1005 && cut["error"]?["resumeDataAvailable"]?.bool == true)
    #expect(cut["body"] == .null)
    let data = try #require(try ferry.resumeData(of: cut.id))
    origin.change { $0.stop = nil }
    try expectRest(ferry.download(resuming: data), from: 300_000)
  }

  @Test func aDownloadCanGoOnInThreeLegs() throws {
    let first = try resumeData(at: 100_000)
    origin.change {
      $0.stop = 400_000
      $0.cuts = true
    }
    let cut = try ferry.download(resuming: first)
    #expect(cut.errorCode == -1005 && cut.received == 400_000)
    #expect(try ferry.offsets(of: cut.id) == [[100_000, size]])
    let second = try #require(try ferry.resumeData(of: cut.id))
    origin.change { $0.stop = nil }
    try expectRest(ferry.download(resuming: second), from: 400_000)
  }

  // MARK: Restarts

  @Test func resumeDataOutlivesTheProcess() throws {
    let first = try FerryProcess()
    origin.change { $0.stop = 300_000 }
    let data = try first.cancelProducingResumeData(first.stalled(origin.url, at: 300_000)).string
    first.kill()
    origin.change { $0.stop = nil }
    let second = try FerryProcess(directory: first.directory)
    let task = try second.download(resuming: #require(data))
    #expect(try second.offsets(of: task.id) == [[300_000, size]])
    #expect(try second.body(of: task.id) == ResumableOrigin.body)
  }

  @Test(arguments: ["running", "suspended"])
  func aDownloadThatTheEndOfTheProcessInterruptedGoesOn(_ state: String) throws {
    let first = try FerryProcess()
    origin.change { $0.stop = 300_000 }
    let id = try first.stalled(origin.url, at: 300_000)
    let path = first.directory + "/bodies/\(id).part"
    let written = { try? FileManager.default.attributesOfItem(atPath: path)[.size] as? Int }
    _ = try first.poll("/v1/tasks/\(id)") { _ in written() == 300_000 }
    #expect(written() == 300_000)
    if state == "suspended" { #expect(try first.act("suspend", id) == state) }
    // Its answer tells that what is known of the task is stored.
    #expect(try first.call("PATCH", "/v1/tasks/\(id)", #"{"description":"stored"}"#).status == 200)
    first.kill()
    origin.change { $0.stop = nil }

    let second = try FerryProcess(directory: first.directory)
    var task = try state == "running" ? second.end(of: id) : second.task(id)
    if state == "running" {
      #expect(task.errorCode == -1005 && task["error"]?["resumeDataAvailable"]?.bool == true)
      task = try second.download(resuming: #require(try second.resumeData(of: id)))
    } else {
      #expect(task["state"]?.string == "suspended")
      #expect(try second.act("resume", id) == "running")
      task = try second.end(of: id)
    }
    #expect(task["error"] == .null && origin.requests.last?["Range"] == "bytes=300000-")
    #expect(try second.offsets(of: task.id) == [[300_000, size]])
    #expect(try second.body(of: task.id) == ResumableOrigin.body)
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
    let task = try ferry.download(resuming: data)
    #expect(task["response"]?["status"]?.integer == 200)
    #expect(try ferry.offsets(of: task.id) == [[0, size]])
    try expectAll(task, ResumableOrigin.otherBody)
    #expect(origin.requests.dropFirst().first?["Range"] == "bytes=300000-")
    if reply != .whole { #expect(origin.requests.last?["Range"] == nil) }
  }

  /// The temporary file has gone to the first.
  @Test func resumeDataThatIsUsedTwiceStartsFromZero() throws {
    let data = try resumeData()
    try expectRest(ferry.download(resuming: data), from: 300_000)
    let again = try ferry.download(resuming: data)
    #expect(try ferry.offsets(of: again.id) == [[0, size]])
    #expect(origin.requests.last?["Range"] == nil)
    try expectAll(again, ResumableOrigin.body)
  }

  // MARK: What was kept stays good

  @Test func resumeDataStaysGoodWhereTheOriginIsDown() throws {
    let data = try resumeData()
    origin.change { $0.rangeReply = .nothing }
    let failed = try ferry.download(resuming: data)
    #expect(failed.errorCode == -1011 && failed["error"]?["resumeDataAvailable"]?.bool == true)
    let itsOwn = try #require(try ferry.resumeData(of: failed.id))
    #expect(try ferry.download(resuming: itsOwn).errorCode == -1011)
    origin.change { $0.rangeReply = .rest }
    try expectRest(ferry.download(resuming: data), from: 300_000)
  }

  /// An error's page is the result, as everywhere; the bytes are still there.
  @Test func resumeDataStaysGoodWhereTheOriginAnswersWithAnError() throws {
    let data = try resumeData()
    origin.change { $0.rangeReply = .missing }
    let page = try ferry.download(resuming: data)
    #expect(page["error"] == .null && page["response"]?["status"]?.integer == 404)
    #expect(try ferry.body(of: page.id) == Array("a page".utf8))
    #expect(try ferry.offsets(of: page.id).isEmpty)
    origin.change { $0.rangeReply = .rest }
    try expectRest(ferry.download(resuming: data), from: 300_000)
  }

  // MARK: A real server

  @Test(arguments: [NginxServer.Face.plain, .good])
  func aDownloadFromARealServerGoesOn(_ face: NginxServer.Face) throws {
    let count = 5_000_000
    let nginx = try NginxServer(files: ["large.bin": count])
    let ferry = try FerryProcess(options: ["--ca-file", nginx.authorityFile])
    let url = nginx.url(face, "/large.bin", host: face == .plain ? "127.0.0.1" : "localhost")
    let body =
      #"{"kind":"download","resume":true,"maximumBytesPerSecond":500000,"request":{"url":"\#(url)"}}"#
    let id = try ferry.call("POST", "/v1/tasks", body).json.id
    _ = try ferry.poll("/v1/tasks/\(id)") { $0.received > 200_000 || $0["state"]?.string == "completed" }
    let data = try #require(try ferry.cancelProducingResumeData(id).string)
    let offset = try ferry.task(id).received
    #expect(offset > 200_000 && offset < Int64(count))
    let task = try ferry.download(resuming: data)
    #expect(task["error"] == .null && task["response"]?["status"]?.integer == 206)
    #expect(try ferry.offsets(of: task.id) == [[offset, Int64(count)]])
    #expect(try ferry.body(of: task.id) == NginxServer.contents(count))
  }
}

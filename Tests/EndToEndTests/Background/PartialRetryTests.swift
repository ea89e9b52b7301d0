import JSON
import Synchronization
import TestSupport
import Testing

/// A failed background download continues with its next attempt: with bytes of the same version, or from the first byte
/// (RFC 9110 §14).
@Suite(.serialized, .blocking) struct PartialRetryTests {
  private static let body = [UInt8](0..<104)
  private static let changed = [UInt8](100..<214)
  private static let first =
    "HTTP/1.1 200 OK\r\nContent-Length: 104\r\nAccept-Ranges: bytes\r\nETag: \"v\"\r\n\r\n"

  private static func part(_ range: String, _ bytes: ArraySlice<UInt8>) -> [UInt8] {
    let fields = [("Content-Range", "bytes \(range)"), ("ETag", "\"v\"")]
    return TestOrigin.reply("206 Partial Content", Array(bytes), fields)
  }

  private static func chunked(_ range: String, _ bytes: ArraySlice<UInt8>) -> [UInt8] {
    let fields = "Content-Range: bytes \(range)\r\nETag: \"v\"\r\nTransfer-Encoding: chunked\r\n\r\n"
    let size = String(bytes.count, radix: 16)
    return Array("HTTP/1.1 206 P\r\n\(fields)\(size)\r\n".utf8) + bytes + Array("\r\n0\r\n\r\n".utf8)
  }

  /// The attempts after the first, which fails at 40 bytes: their responses, the `Range` of each request, and the final
  /// body. A `Range` of `nil` requests the whole body.
  struct Case: Sendable {
    var answers: [[UInt8]]
    var ranges: [String?]
    var result = body
  }

  private static let cases: [String: Case] = [
    "short and without a total": Case(
      answers: [part("40-59/*", body[40..<60]), part("60-103/104", body[60...])],
      ranges: ["bytes=40-", "bytes=60-"]),
    "shorter than its range": Case(
      answers: [part("40-103/104", body[40..<60]), part("60-103/104", body[60...])],
      ranges: ["bytes=40-", "bytes=60-"]),
    "shorter than its range, in chunks": Case(
      answers: [chunked("40-103/104", body[40..<60]), part("60-103/104", body[60...])],
      ranges: ["bytes=40-", "bytes=60-"]),
    "longer than its range": Case(
      answers: [
        chunked("40-103/104", body[40...] + [1, 2, 3, 4, 5]), TestOrigin.reply("200 OK", body),
      ], ranges: ["bytes=40-", nil]),
    "with a different total": Case(
      answers: [part("40-113/114", changed[40..<114 - 4]), TestOrigin.reply("200 OK", changed)],
      ranges: ["bytes=40-", nil], result: changed),
  ]

  @Test(arguments: cases.keys.sorted()) func `retry continues the download`(_ name: String) throws {
    let trial = try #require(Self.cases[name])
    let count = Mutex(0)
    let origin = TestOrigin { _, socket in
      let index = count.withLock { count in
        defer { count += 1 }
        return count
      }
      guard index > 0 else {
        try socket.write(Array(Self.first.utf8) + Self.body[..<40])
        return false
      }
      try socket.write(trial.answers[min(index, trial.answers.count) - 1])
      return true
    }
    let place = try BackgroundFixture()
    let session = try place.session("a", #"{"retry":{"backoff":0.1}}"#)
    let id = try place.ferry.create(origin.url + "/", kind: "download", session: session)
    let task = try place.ferry.end(of: id)
    #expect(task["error"] == .null && task["retryCount"]?.integer == 1, "\(task.text)")
    #expect(try place.ferry.body(of: id) == trial.result)
    #expect(origin.requests.dropFirst().map { $0["Range"] } == trial.ranges)
    #expect(
      origin.requests.dropFirst().map { $0["If-Range"] } == trial.ranges.map { $0 == nil ? nil : "\"v\"" })
  }
}

import Crypto
import Foundation
import JSON
import TestSupport
import Testing

/// Stored files, which uploads read and which downloads are moved to.
@Suite(.serialized, .blocking, .sharing) struct FileTests {
  private let place: InProcessAPI
  private let origin = TestOrigin { request, socket in
    if request.path == "/silent" { return try socket.readSome() != nil }
    let size = Int(request.path.dropFirst()) ?? 0
    try socket.write(TestOrigin.reply("200 OK", Pattern.bytes(size), [("Content-Type", "image/png")]))
    return true
  }
  private static let sizes = [0, 1, 40 * 1024, 3_000_000]

  init() throws { place = try .ofSuite() }

  private func keep(_ task: String, _ fields: [(String, String)] = []) throws -> HTTPReply {
    try place.call("POST", "/v1/files", #"{"fromTask":"\#(task)"}"#, fields)
  }

  private static func hexadecimal(_ bytes: [UInt8]) -> String {
    SHA256.hash(data: bytes).map { String(format: "%02x", $0) }.joined()
  }

  @Test(
    arguments: [
      ("Range", "bytes=0-0", 206, 0..<1), ("Range", "bytes=100-", 206, 100..<40_960),
      ("Range", "bytes=-7", 206, 40_953..<40_960), ("Range", "bytes=40000-99999", 206, 40_000..<40_960),
      ("Range", "bytes=40960-", 416, 0..<0), ("Range", "lines=1-2", 200, 0..<40_960),
      ("If-None-Match", "TAG", 304, 0..<0), ("If-None-Match", "*", 304, 0..<0),
      ("If-None-Match", "W/TAG, \"x\"", 304, 0..<0), ("If-None-Match", "\"other\"", 200, 0..<40_960),
      ("If-Match", "TAG", 200, 0..<40_960), ("If-Match", "\"x\", TAG", 200, 0..<40_960),
      ("If-Match", "*", 200, 0..<40_960), ("If-Match", "\"other\"", 412, 0..<0),
      ("If-Match", "W/TAG", 412, 0..<0),
    ] as [(String, String, Int, Range<Int>)])
  func `file honours ranges`(_ name: String, _ value: String, _ status: Int, _ range: Range<Int>) throws {
    let bytes = Pattern.bytes(40_960)
    let id = try place.store(bytes)
    let tag = "\"\(Self.hexadecimal(bytes))\""
    let value = value.replacingOccurrences(of: "TAG", with: tag)
    let reply = try place.call("GET", "/v1/files/\(id)", nil, [(name, value)])
    #expect(reply.status == status)
    if status < 300 { #expect(reply.body == Array(bytes[range])) }
    switch status {
    case 206:
      #expect(reply["Content-Range"] == "bytes \(range.lowerBound)-\(range.upperBound - 1)/40960")
      let other = try place.call("GET", "/v1/files/\(id)", nil, [(name, value), ("If-Range", "\"other\"")])
      #expect(other.status == 200 && other.body == bytes)
      let same = try place.call("GET", "/v1/files/\(id)", nil, [(name, value), ("If-Range", tag)])
      #expect(same.status == 206 && same.body == reply.body)
    case 416: #expect(reply["Content-Range"] == "bytes */40960")
    case 304: #expect(reply.body.isEmpty && reply["ETag"] == tag)
    default: #expect(reply["Content-Range"] == nil)
    }
  }

  /// urlSession(_:downloadTask:didFinishDownloadingTo:): a client that wants to keep the file moves it.
  @Test(arguments: sizes, ["download", "data"])
  func `finished body is moved to a file`(_ size: Int, _ kind: String) throws {
    let task = try place.run(origin.url + "/\(size)", kind: kind)
    let reply = try keep(task.id)
    let file = reply.json
    #expect(reply.status == 201 && reply["Location"] == "/v1/files/\(file.id)")
    #expect(file["fromTask"]?.string == task.id && file["contentType"]?.string == "image/png")
    #expect(file["size"]?.integer == Int64(size) && file["sha256"] == task["body"]?["sha256"])
    #expect(try place.call("GET", "/v1/files/\(file.id)").body == Pattern.bytes(size))
    // The body is moved, so the task no longer has it.
    #expect(try place.call("GET", "/v1/tasks/\(task.id)/body").status == 404)
    #expect(try place.task(task.id)["body"] == .null)
    #expect(try keep(task.id).status == 404)
    let upload = #","method":"PUT","body":{"file":"\#(file.id)"}"#
    #expect(try place.run(origin.url + "/0", kind: "upload", request: upload)["error"] == .null)
    #expect(origin.requests.last?.body == Pattern.bytes(size))
  }

  @Test(
    arguments: [
      (#"{}"#, ["/fromTask"]), (#"{"fromTask":1}"#, ["/fromTask"]), (#"{"fromTask":"x"}"#, ["/fromTask"]),
      (#"{"fromTask":null}"#, ["/fromTask"]), (#"{"fromTask":"fil_1"}"#, ["/fromTask"]),
      (#"{"formTask":"x"}"#, ["/formTask", "/fromTask"]), (#"[]"#, [""]), (#"{"#, nil),
      (#"{"fromTask":"tsk_01890a5d-ac96-774b-bcce-b302099a8057","a/b":1}"#, ["/a~1b"]),
    ] as [(String, [String]?)])
  func `wrong member of a request is named`(_ body: String, _ pointers: [String]?) throws {
    let reply = try place.call("POST", "/v1/files", body)
    #expect(reply.status == 400 && reply["Content-Type"] == "application/problem+json")
    #expect(reply.json["errors"]?.elements?.compactMap { $0["pointer"]?.string }.sorted() == pointers)
  }
}

import Crypto
import Foundation
import JSON
import TestSupport
import Testing

/// Stored files: what uploads read, and what is kept of downloads.
@Suite(.serialized, .blocking, .sharing) struct FileTests {
  private let ferry: FerryProcess
  private let origin = TestOrigin { request, socket in
    if request.path == "/silent" { return try socket.readSome() != nil }
    let size = Int(request.path.dropFirst()) ?? 0
    try socket.write(TestOrigin.reply("200 OK", Pattern.bytes(size), [("Content-Type", "image/png")]))
    return true
  }
  private static let sizes = [0, 1, 40 * 1024, 3_000_000]

  init() throws { ferry = try .ofSuite() }

  private func post(_ bytes: [UInt8], _ fields: [(String, String)] = []) throws -> HTTPReply {
    try HTTPClient(port: ferry.port).send("POST", "/v1/files", bytes, fields)
  }

  private func keep(_ task: String, _ fields: [(String, String)] = []) throws -> HTTPReply {
    try ferry.call("POST", "/v1/files", #"{"fromTask":"\#(task)"}"#, fields)
  }

  private static func hexadecimal(_ bytes: [UInt8]) -> String {
    SHA256.hash(data: bytes).map { String(format: "%02x", $0) }.joined()
  }

  // MARK: Storing and reading

  @Test(arguments: sizes, ["image/png", nil]) func whatIsStoredIsReadBack(_ size: Int, _ type: String?) throws
  {
    let bytes = Pattern.bytes(size)
    let reply = try post(bytes, type.map { [("Content-Type", $0)] } ?? [])
    let file = reply.json
    #expect(reply.status == 201 && reply["Location"] == "/v1/files/\(file.id)" && reply["ETag"] != nil)
    #expect(file["size"]?.integer == Int64(size) && file["sha256"]?.string == Self.hexadecimal(bytes))
    #expect(file["contentType"]?.string == type && file["fromTask"] == .null)
    for method in ["GET", "HEAD"] {
      let read = try ferry.call(method, "/v1/files/\(file.id)")
      #expect(read.status == 200 && read["Content-Length"] == "\(size)", "\(method)")
      #expect(read.body == (method == "GET" ? bytes : []), "\(method)")
      #expect(read["Content-Type"] == type ?? "application/octet-stream", "\(method)")
      #expect(read["ETag"] == "\"\(Self.hexadecimal(bytes))\"" && read["Accept-Ranges"] == "bytes")
      let digest = Data(SHA256.hash(data: bytes)).base64EncodedString()
      #expect(read["Repr-Digest"] == "sha-256=:\(digest):", "\(method)")
      // Nothing of it is run by a browser under the service's name.
      #expect(read["X-Content-Type-Options"] == "nosniff" && read["Content-Disposition"] == "attachment")
    }
    let description = try ferry.call("GET", "/v1/files/\(file.id)", nil, [("Accept", "application/json")])
    #expect(description["Content-Type"] == "application/json" && description.json == file)
  }

  @Test func aBodyOfUnknownLengthIsStored() throws {
    let client = try HTTPClient(port: ferry.port)
    try client.socket.write(
      "POST /v1/files HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n"
    )
    let file = try client.readReply()
    #expect(file.status == 201 && file.json["size"]?.integer == 5)
    #expect(try ferry.call("GET", "/v1/files/\(file.json.id)").text == "abcde")
  }

  @Test(
    arguments: [
      ("Range", "bytes=0-0", 206, 0..<1), ("Range", "bytes=100-", 206, 100..<40_960),
      ("Range", "bytes=-7", 206, 40_953..<40_960), ("Range", "bytes=40000-99999", 206, 40_000..<40_960),
      ("Range", "bytes=40960-", 416, 0..<0), ("Range", "lines=1-2", 200, 0..<40_960),
      ("If-None-Match", "TAG", 304, 0..<0), ("If-None-Match", "*", 304, 0..<0),
      ("If-None-Match", "W/TAG, \"x\"", 304, 0..<0), ("If-None-Match", "\"other\"", 200, 0..<40_960),
    ] as [(String, String, Int, Range<Int>)])
  func partsAndConditions(_ name: String, _ value: String, _ status: Int, _ range: Range<Int>) throws {
    let bytes = Pattern.bytes(40_960)
    let id = try ferry.store(bytes)
    let tag = "\"\(Self.hexadecimal(bytes))\""
    let value = value.replacingOccurrences(of: "TAG", with: tag)
    let reply = try ferry.call("GET", "/v1/files/\(id)", nil, [(name, value)])
    #expect(reply.status == status)
    if status < 300 { #expect(reply.body == Array(bytes[range])) }
    switch status {
    case 206:
      #expect(reply["Content-Range"] == "bytes \(range.lowerBound)-\(range.upperBound - 1)/40960")
      let other = try ferry.call("GET", "/v1/files/\(id)", nil, [(name, value), ("If-Range", "\"other\"")])
      #expect(other.status == 200 && other.body == bytes)
      let same = try ferry.call("GET", "/v1/files/\(id)", nil, [(name, value), ("If-Range", tag)])
      #expect(same.status == 206 && same.body == reply.body)
    case 416: #expect(reply["Content-Range"] == "bytes */40960")
    case 304: #expect(reply.body.isEmpty && reply["ETag"] == tag)
    default: #expect(reply["Content-Range"] == nil)
    }
  }

  // MARK: From a download

  /// didFinishDownloadingTo: who wants to keep the file moves it.
  @Test(arguments: sizes, ["download", "data"])
  func aFinishedBodyIsMoved(_ size: Int, _ kind: String) throws {
    let task = try ferry.run(origin.url + "/\(size)", kind: kind)
    let reply = try keep(task.id)
    let file = reply.json
    #expect(reply.status == 201 && reply["Location"] == "/v1/files/\(file.id)")
    #expect(file["fromTask"]?.string == task.id && file["contentType"]?.string == "image/png")
    #expect(file["size"]?.integer == Int64(size) && file["sha256"] == task["body"]?["sha256"])
    #expect(try ferry.call("GET", "/v1/files/\(file.id)").body == Pattern.bytes(size))
    // It is moved and not copied.
    #expect(try ferry.call("GET", "/v1/tasks/\(task.id)/body").status == 404)
    #expect(try ferry.task(task.id)["body"] == .null)
    #expect(try keep(task.id).status == 404)
    let upload = #","method":"PUT","body":{"file":"\#(file.id)"}"#
    #expect(try ferry.run(origin.url + "/0", kind: "upload", request: upload)["error"] == .null)
    #expect(origin.requests.last?.body == Pattern.bytes(size))
  }

  @Test(
    arguments: [
      (#"{}"#, ["/fromTask"]), (#"{"fromTask":1}"#, ["/fromTask"]), (#"{"fromTask":"x"}"#, ["/fromTask"]),
      (#"{"fromTask":null}"#, ["/fromTask"]), (#"{"fromTask":"fil_1"}"#, ["/fromTask"]),
      (#"{"formTask":"x"}"#, ["/formTask", "/fromTask"]), (#"[]"#, [""]), (#"{"#, nil),
      (#"{"fromTask":"tsk_01890a5d-ac96-774b-bcce-b302099a8057","a/b":1}"#, ["/a~1b"]),
    ] as [(String, [String]?)])
  func wrongMembersAreNamed(_ body: String, _ pointers: [String]?) throws {
    let reply = try ferry.call("POST", "/v1/files", body)
    #expect(reply.status == 400 && reply["Content-Type"] == "application/problem+json")
    #expect(reply.json["errors"]?.elements?.compactMap { $0["pointer"]?.string }.sorted() == pointers)
  }

  // MARK: Idempotency and durability

  @Test func filesOutliveTheProcess() throws {
    let directory = TemporaryDirectory.make("files")
    defer { try? FileManager.default.removeItem(atPath: directory) }
    var files: [(file: JSONValue, bytes: [UInt8])] = []
    do {
      let first = try FerryProcess(directory: directory)
      for size in Self.sizes {
        let bytes = Pattern.bytes(size)
        files.append((try first.call("GET", "/v1/files/\(first.store(bytes))", nil, Self.asJSON).json, bytes))
        let task = try first.run(origin.url + "/\(size)")
        let kept = try first.call("POST", "/v1/files", #"{"fromTask":"\#(task.id)"}"#)
        files.append((kept.json, bytes))
      }
      first.kill()
    }
    let second = try FerryProcess(directory: directory)
    for (file, bytes) in files {
      #expect(try second.call("GET", "/v1/files/\(file.id)", nil, Self.asJSON).json == file)
      #expect(try second.call("GET", "/v1/files/\(file.id)").body == bytes)
    }
    #expect(try second.call("GET", "/v1/files").json["items"]?.elements?.map(\.id) == files.map(\.file.id))
  }
  private static let asJSON = [("Accept", "application/json")]
}

import Crypto
import Foundation
import JSON
import TestSupport
import Testing

/// Stored files: what uploads read, and what is kept of downloads.
@Suite(.serialized, .blocking) struct FileTests {
  private let ferry: FerryProcess
  private let origin = TestOrigin { request, socket in
    if request.path == "/silent" { return try socket.readSome() != nil }
    let size = Int(request.path.dropFirst()) ?? 0
    try socket.write(TestOrigin.reply("200 OK", Pattern.bytes(size), [("Content-Type", "image/png")]))
    return true
  }
  private static let sizes = [0, 1, 40 * 1024, 3_000_000]

  init() throws { ferry = try FerryProcess() }

  private func post(_ bytes: [UInt8], _ fields: [(String, String)] = []) throws -> HTTPReply {
    try HTTPClient(port: ferry.port).send("POST", "/v1/files", bytes, fields)
  }

  private func keep(_ task: String, _ fields: [(String, String)] = []) throws -> HTTPReply {
    try ferry.call("POST", "/v1/files", #"{"fromTask":"\#(task)"}"#, fields)
  }

  private static func hexadecimal(_ bytes: [UInt8]) -> String {
    SHA256.hash(data: bytes).map { String(format: "%02x", $0) }.joined()
  }

  private func namesOnDisk() throws -> Set<String> {
    Set(try FileManager.default.subpathsOfDirectory(atPath: ferry.directory).filter { $0.contains("fil_") })
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

  @Test func theListHasPages() throws {
    #expect(try ferry.call("GET", "/v1/files").json["items"]?.elements?.isEmpty == true)
    let ids = try (0..<5).map { try ferry.store([UInt8($0)]) }
    var seen: [String] = []
    var target = "/v1/files?limit=2"
    for count in [2, 2, 1] {
      let page = try ferry.call("GET", target)
      let items = page.json["items"]?.elements ?? []
      #expect(page.status == 200 && items.count == count)
      seen += items.map(\.id)
      let cursor = page.json["nextCursor"]?.string
      #expect((cursor == nil) == (count == 1) && (page["Link"] == nil) == (count == 1))
      target = "/v1/files?limit=2&cursor=\(cursor ?? "")"
    }
    #expect(seen == ids)
    for (query, name) in [("limit=0", "limit"), ("limit=501", "limit"), ("cursor=x", "cursor"), ("a=b", "a")]
    {
      let reply = try ferry.call("GET", "/v1/files?\(query)")
      #expect(reply.status == 400 && reply.text.contains(name), "\(query)")
    }
  }

  @Test func whatIsDeletedIsGone() throws {
    let id = try ferry.store(Pattern.bytes(1000))
    #expect(try namesOnDisk().count == 1)
    let reply = try ferry.call("DELETE", "/v1/files/\(id)")
    #expect(reply.status == 204 && reply.body.isEmpty)
    for method in ["GET", "HEAD", "DELETE"] {
      #expect(try ferry.call(method, "/v1/files/\(id)").status == 404, "\(method)")
    }
    #expect(try namesOnDisk().isEmpty)
    #expect(try ferry.call("GET", "/v1/files").json["items"]?.elements?.isEmpty == true)
    for id in ["fil_1", "tsk_01890a5d-ac96-774b-bcce-b302099a8057", "nonsense"] {
      #expect(try ferry.call("GET", "/v1/files/\(id)").status == 404, "\(id)")
    }
  }

  /// A client that leaves in the middle leaves nothing.
  @Test func halfAFileIsNone() throws {
    let client = try HTTPClient(port: ferry.port)
    try withExtendedLifetime(client) {
      try client.socket.write("POST /v1/files HTTP/1.1\r\nHost: localhost\r\nContent-Length: 900000\r\n\r\n")
      try client.socket.write(Pattern.bytes(300_000))
      try wait { try sizesOnDisk() == [300_000] }
      client.socket.shutdownWrites()
      try wait { try namesOnDisk().isEmpty }
    }
    #expect(try ferry.call("GET", "/v1/files").json["items"]?.elements?.isEmpty == true)
  }

  private func sizesOnDisk() throws -> [Int] {
    try namesOnDisk().map { name in
      let path = ferry.directory + "/" + name
      return try FileManager.default.attributesOfItem(atPath: path)[.size] as? Int ?? -1
    }
  }

  /// Until `isSo`, at most 20 s.
  private func wait(until isSo: () throws -> Bool) throws {
    let end = Date().addingTimeInterval(20)
    while try !isSo() {
      try #require(Date() < end, "it took too long")
      usleep(5000)
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

  @Test func whatHasNoBodyCannotBeMoved() throws {
    #expect(try keep("tsk_01890a5d-ac96-774b-bcce-b302099a8057").status == 404)
    let running = try ferry.create(origin.url + "/silent", kind: "download")
    #expect(try keep(running).status == 409)
    #expect(try ferry.act("cancel", running) == "canceling")
    _ = try ferry.end(of: running)
    #expect(try keep(running).status == 404)
    let dropped = try ferry.run(origin.url + "/10")
    #expect(try ferry.call("DELETE", "/v1/tasks/\(dropped.id)/body").status == 204)
    #expect(try keep(dropped.id).status == 404)
    #expect(try namesOnDisk().isEmpty)
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

  @Test func aRepeatGetsTheFirstReply() throws {
    let key = [("Idempotency-Key", "\"one\""), ("Content-Type", "text/plain")]
    let first = try post([1, 2, 3], key)
    let again = try post([1, 2, 3], key)
    #expect(first.status == 201 && again.status == 201 && again.json == first.json)
    #expect(again["Location"] == first["Location"])
    #expect(try post([1, 2, 4], key).status == 422)
    let task = try ferry.run(origin.url + "/40960")
    let other = [("Idempotency-Key", "two")]
    let kept = try keep(task.id, other)
    #expect(kept.status == 201)
    #expect(try keep(task.id, other).json == kept.json)
    #expect(try keep("tsk_01890a5d-ac96-774b-bcce-b302099a8057", other).status == 422)
    // Repeats leave nothing behind.
    #expect(try namesOnDisk().count == 2)
    #expect(try ferry.call("GET", "/v1/files").json["items"]?.elements?.count == 2)
  }

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

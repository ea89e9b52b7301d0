import Foundation
import JSON
import TestSupport
import Testing

/// All the stored files of a service: what is listed, and what is on the disk.
@Suite(.serialized, .blocking) struct FileListTests {
  private let ferry: FerryProcess
  private let origin = TestOrigin { request, socket in
    if request.path == "/silent" { return try socket.readSome() != nil }
    let size = Int(request.path.dropFirst()) ?? 0
    try socket.write(TestOrigin.reply("200 OK", Pattern.bytes(size), [("Content-Type", "image/png")]))
    return true
  }

  init() throws { ferry = try FerryProcess() }

  private func post(_ bytes: [UInt8], _ fields: [(String, String)] = []) throws -> HTTPReply {
    try HTTPClient(port: ferry.port).send("POST", "/v1/files", bytes, fields)
  }

  private func keep(_ task: String, _ fields: [(String, String)] = []) throws -> HTTPReply {
    try ferry.call("POST", "/v1/files", #"{"fromTask":"\#(task)"}"#, fields)
  }

  private func namesOnDisk() throws -> Set<String> {
    Set(try FileManager.default.subpathsOfDirectory(atPath: ferry.directory).filter { $0.contains("fil_") })
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
}

import Foundation
import JSON
import TestSupport
import Testing

/// The list of a service's stored files, compared with the files on disk.
@Suite(.serialized, .blocking) struct FileListTests {
  private let place: InProcessAPI
  private let origin = TestOrigin { request, socket in
    if request.path == "/silent" { return try socket.readSome() != nil }
    let size = Int(request.path.dropFirst()) ?? 0
    try socket.write(TestOrigin.reply("200 OK", Pattern.bytes(size), [("Content-Type", "image/png")]))
    return true
  }

  init() throws { place = try InProcessAPI() }

  private func keep(_ task: String, _ fields: [(String, String)] = []) throws -> HTTPReply {
    try place.call("POST", "/v1/files", #"{"fromTask":"\#(task)"}"#, fields)
  }

  private func namesOnDisk() throws -> Set<String> {
    Set(try FileManager.default.subpathsOfDirectory(atPath: place.directory).filter { $0.contains("fil_") })
  }

  @Test func `list of files has pages`() throws {
    #expect(try place.call("GET", "/v1/files").json["items"]?.elements?.isEmpty == true)
    let ids = try (0..<5).map { try place.store([UInt8($0)]) }
    var seen: [String] = []
    var target = "/v1/files?limit=2"
    for count in [2, 2, 1] {
      let page = try place.call("GET", target)
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
      let reply = try place.call("GET", "/v1/files?\(query)")
      #expect(reply.status == 400 && reply.text.contains(name), "\(query)")
    }
  }

  @Test func `deleted file is gone from the list and the disk`() throws {
    let id = try place.store(Pattern.bytes(1000))
    #expect(try namesOnDisk().count == 1)
    let reply = try place.call("DELETE", "/v1/files/\(id)")
    #expect(reply.status == 204 && reply.body.isEmpty)
    for method in ["GET", "HEAD", "DELETE"] {
      #expect(try place.call(method, "/v1/files/\(id)").status == 404, "\(method)")
    }
    #expect(try namesOnDisk().isEmpty)
    #expect(try place.call("GET", "/v1/files").json["items"]?.elements?.isEmpty == true)
    for id in ["fil_1", "tsk_01890a5d-ac96-774b-bcce-b302099a8057", "nonsense"] {
      #expect(try place.call("GET", "/v1/files/\(id)").status == 404, "\(id)")
    }
  }

  @Test func `task without a body cannot be moved to a file`() throws {
    #expect(try keep("tsk_01890a5d-ac96-774b-bcce-b302099a8057").status == 404)
    let running = try place.create(origin.url + "/silent", kind: "download")
    #expect(try keep(running).status == 409)
    #expect(try place.act("cancel", running) == "canceling")
    _ = try place.end(of: running)
    #expect(try keep(running).status == 404)
    let dropped = try place.run(origin.url + "/10")
    #expect(try place.call("DELETE", "/v1/tasks/\(dropped.id)/body").status == 204)
    #expect(try keep(dropped.id).status == 404)
    #expect(try namesOnDisk().isEmpty)
  }

  @Test func `repeated request gets the first reply`() throws {
    let task = try place.run(origin.url + "/40960")
    let other = [("Idempotency-Key", "two")]
    let kept = try keep(task.id, other)
    #expect(kept.status == 201)
    #expect(try keep(task.id, other).json == kept.json)
    #expect(try keep("tsk_01890a5d-ac96-774b-bcce-b302099a8057", other).status == 422)
    // A repetition creates no further file.
    #expect(try namesOnDisk().count == 1)
    #expect(try place.call("GET", "/v1/files").json["items"]?.elements?.count == 1)
  }
}

import Foundation
import JSON
import Synchronization
import TestSupport
import Testing
import TransferModel

/// `destination` of a download, in default and ephemeral sessions.
@Suite(.serialized, .blocking, .sharing) struct DestinationTests {
  private let place: InProcessAPI
  private let media: String
  private static let digest = "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824"

  init() throws {
    place = try .ofSuite()
    media = try #require(place.media[.default]) + "/" + UUID().uuidString
    // Responds with as many bytes as the path says, or with `hello`.
    origin = TestOrigin { [requests] request, socket in
      requests.add()
      let count = Int(request.path.dropFirst())
      try socket.write(
        TestOrigin.reply("200 OK", count.map { [UInt8](repeating: 7, count: $0) } ?? Array("hello".utf8)))
      return true
    }
  }

  /// The number of requests that the origin has received.
  private final class SharedCount: Sendable {
    private let number = Atomic(0)
    func add() { number.add(1, ordering: .relaxed) }
    var value: Int { number.load(ordering: .relaxed) }
  }

  private let requests = SharedCount()
  private let origin: TestOrigin

  private func create(
    _ file: String, _ rule: String = "fail", path: String = "/", members: String = "",
    session: String = "ses_shared"
  ) throws -> HTTPReply {
    let destination = #"{"file":"\#(file)","ifExists":"\#(rule)"}"#
    return try place.call(
      "POST", "/v1/sessions/\(session)/tasks",
      #"{"kind":"download","resume":true,"request":{"url":"\#(origin.url)\#(path)"},"destination":\#(destination)\#(members)}"#
    )
  }

  private func run(
    _ file: String, _ rule: String = "fail", path: String = "/", members: String = "",
    session: String = "ses_shared"
  ) throws -> JSONValue {
    let reply = try create(file, rule, path: path, members: members, session: session)
    #expect(reply.status == 201, "\(reply.text)")
    return try place.end(of: reply.json.id)
  }

  private func contents(_ path: String) -> [UInt8]? {
    FileManager.default.contents(atPath: path).map { Array($0) }
  }
  private func names() -> [String] {
    (try? FileManager.default.contentsOfDirectory(atPath: media).sorted()) ?? []
  }

  @Test(arguments: ["default", "ephemeral"], [5, 100_000])
  func `download becomes the file`(_ type: String, _ size: Int) throws {
    let session = try place.call("POST", "/v1/sessions", #"{"type":"\#(type)"}"#).json.id
    let task = try run(media + "/a.bin", path: "/\(size)", session: session)
    #expect(
      task["outcome"]?.string == "succeeded" && task["destination"]?["file"]?.string == media + "/a.bin")
    #expect(task["body"]?["size"]?.integer == Int64(size) && task["body"]?["expiresAt"] == .null)
    #expect(contents(media + "/a.bin") == [UInt8](repeating: 7, count: size) && names() == ["a.bin"])
    #expect(try place.body(of: task.id) == [UInt8](repeating: 7, count: size))
    #expect(BodyFiles.path(task.id, in: place.directory) == nil)
    let part = try place.call("GET", "/v1/tasks/\(task.id)/body", nil, [("Range", "bytes=1-2")])
    #expect(part.status == 206 && part.body == [7, 7])
    // The file belongs to the client.
    #expect(try place.call("POST", "/v1/files", #"{"fromTask":"\#(task.id)"}"#).status == 409)
    #expect(try place.call("DELETE", "/v1/tasks/\(task.id)/body").status == 204)
    #expect(try place.task(task.id)["body"] == .null)
    #expect(try place.call("GET", "/v1/tasks/\(task.id)/body").status == 404)
    #expect(try place.call("DELETE", "/v1/tasks/\(task.id)").status == 204)
    #expect(names() == ["a.bin"])
  }

  @Test func `event of the file has no expiry`() throws {
    let reply = try create(media + "/a")
    let story = try place.story(of: reply.json.id)
    let finished = try #require(story.first { $0.type == "downloadTask.didFinishDownloading" })
    #expect(
      finished.data["body"]?["expiresAt"] == .null && finished.data["body"]?["size"]?.integer == 5,
      "\(finished.data)")
  }

  @Test func `existing file fails the task before its request`() throws {
    #expect(try run(media + "/a")["outcome"]?.string == "succeeded" && requests.value == 1)
    let failed = try run(media + "/a")
    #expect(failed.errorCode == 6 && failed["error"]?["name"]?.string == "destinationFailed")
    #expect(
      failed["error"]?["underlying"]?["code"]?.integer == 17
        && failed["error"]?["message"]?.string?.contains("exists") == true)
    #expect(requests.value == 1 && failed["body"] == .null)
    let renamed = try run(media + "/a", "rename")
    #expect(renamed["destination"]?["file"]?.string == media + "/a (1)")
    #expect(try run(media + "/a", "replace", path: "/3")["outcome"]?.string == "succeeded")
    #expect(contents(media + "/a") == [7, 7, 7] && names() == ["a", "a (1)"])
  }

  @Test func `mismatch and status leave no file`() throws {
    let wrong = #","expected":{"sha256":"\#(String(repeating: "0", count: 64))"}"#
    #expect(try run(media + "/a", members: wrong).errorCode == 5)
    #expect(try run(media + "/a", members: #","expected":{"size":6}"#).errorCode == 5)
    #expect(names().isEmpty)
    #expect(try run(media + "/a", members: #","expected":{"sha256":"\#(Self.digest)"}"#)["error"] == .null)
    #expect(names() == ["a"])
  }

  @Test(arguments: [5, 100_000]) func `retry after a failed destination downloads nothing`(_ size: Int) throws
  {
    // The path has a file in place of a directory, which is checked before the request. The link appears after the check.
    let gate = Gate()
    let requests = SharedCount()
    let slow = TestOrigin { [media] _, socket in
      requests.add()
      if requests.value == 1 {
        try? FileManager.default.createDirectory(atPath: media, withIntermediateDirectories: true)
        _ = FileManager.default.createFile(atPath: media + "/a", contents: nil)
      }
      try socket.write(TestOrigin.reply("200 OK", [UInt8](repeating: 9, count: size)))
      gate.open()
      return true
    }
    let body =
      #"{"kind":"download","resume":true,"request":{"url":"\#(slow.url)"},"destination":{"file":"\#(media)/a"}}"#
    let failed = try place.end(of: place.call("POST", "/v1/tasks", body).json.id)
    #expect(failed.errorCode == 6 && failed["body"]?["size"]?.integer == Int64(size) && failed.status == 200)
    #expect(try place.body(of: failed.id).count == size)
    try FileManager.default.removeItem(atPath: media + "/a")
    let retried = try place.call("POST", "/v1/tasks/\(failed.id)/retry")
    #expect(retried.status == 201)
    let task = try place.end(of: retried.json.id)
    #expect(task["outcome"]?.string == "succeeded" && requests.value == 1, "\(task)")
    #expect(contents(media + "/a") == [UInt8](repeating: 9, count: size))
    #expect(task["body"]?["sha256"]?.string == failed["body"]?["sha256"]?.string && task.status == 200)
  }

  @Test func `changed file is no longer the body`() throws {
    let task = try run(media + "/a")
    try Data("other".utf8).write(to: URL(fileURLWithPath: media + "/a"))
    let reply = try place.call("GET", "/v1/tasks/\(task.id)/body")
    #expect(
      reply.status == 404 && reply.json["detail"]?.string?.contains("was changed, moved or deleted") == true)
    #expect(try place.call("GET", "/v1/tasks/\(task.id)?include=body").status == 200)
  }

  @Test func `symbolic link fails the task`() throws {
    let outside = TemporaryDirectory.make("outside")
    try FileManager.default.createDirectory(atPath: media, withIntermediateDirectories: true)
    try FileManager.default.createSymbolicLink(atPath: media + "/out", withDestinationPath: outside)
    let task = try run(media + "/out/a")
    #expect(task.errorCode == 6 && requests.value == 0)
    #expect(try FileManager.default.contentsOfDirectory(atPath: outside).isEmpty)
  }

  @Test func `wrong members are named`() throws {
    let url = #""request":{"url":"\#(origin.url)"}"#
    for (body, status, pointer) in [
      (#"{"kind":"data",\#(url),"destination":{"file":"\#(media)/a"}}"#, 400, "/destination"),
      (#"{"kind":"download",\#(url),"destination":{"file":"a"}}"#, 400, "/destination/file"),
      (#"{"kind":"download",\#(url),"destination":{"file":"\#(media)/../a"}}"#, 400, "/destination/file"),
      (#"{"kind":"download",\#(url),"destination":{"s3":{"bucket":"b","key":"k"}}}"#, 400, "/destination/s3"),
      (
        #"{"kind":"download",\#(url),"destination":{"file":"/\#(String(repeating: "x/", count: 2000))x"}}"#,
        422, "/destination/file"
      ),
      (#"{"kind":"download",\#(url),"destination":{"file":"/etc/passwd"}}"#, 403, "/destination/file"),
    ] {
      let reply = try place.call("POST", "/v1/tasks", body)
      #expect(reply.status == status && reply.pointers == [pointer], "\(reply.text)")
    }
    let id = try place.create(origin.url, kind: "download", resume: false)
    let reply = try place.call("PATCH", "/v1/tasks/\(id)", #"{"destination":{"file":"\#(media)/a"}}"#)
    #expect(reply.status == 400 && reply.pointers == ["/destination"])
  }

  @Test func `directory of another tenant is refused without its name`() throws {
    let (own, other) = (try #require(place.media[.default]), try #require(place.media[InProcessAPI.a]))
    let refused = try create(other + "/a")
    #expect(refused.status == 403 && refused.json["type"]?.string == "/problems/destination-not-permitted")
    #expect(!refused.text.contains(other) && !refused.text.contains(own))
  }

  @Test func `line of a batch with a wrong destination gets its problem`() throws {
    let lines = [media + "/a", "/etc/a"].map {
      #"{"kind":"download","request":{"url":"\#(origin.url)"},"destination":{"file":"\#($0)"}}"#
    }
    let reply = try place.call(
      "POST", "/v1/tasks", lines.joined(separator: "\n"), [("Content-Type", "application/x-ndjson")])
    let results = try reply.text.split(separator: "\n").map { try JSONParser.parse(Array($0.utf8)) }
    #expect(results.count == 2 && results[0]["kind"]?.string == "download", "\(reply.text)")
    #expect(results.last?["status"]?.integer == 403)
  }
}

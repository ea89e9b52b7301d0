import Crypto
import Foundation
import JSON
import TestSupport
import Testing

/// Stored fresh responses: read while they are served, in batches, over TLS and after a restart.
@Suite(.serialized, .blocking, .sharing) struct CacheTests {
  private let ferry: FerryProcess
  private let origin = CacheOrigin()
  private let client: CacheClient

  init() throws {
    ferry = try .ofSuite()
    client = try CacheClient(ferry, origin)
  }

  /// A reader that starts before the body arrives receives all of it.
  @Test(arguments: [1024, 100 << 10, 1_000_000]) func `body can be read while served`(_ size: Int) throws {
    let bytes = Pattern.bytes(size)
    origin.serve("/live", bytes, CacheOrigin.fresh)
    let client = try CacheClient(ferry, origin, session: ferry.session(delegate: #"{"responses":"ask"}"#))
    for isHit in [false, true, true] {
      let id = try ferry.create(origin.url + "/live", session: client.session)
      let question = try ferry.decisionEvent(of: id, "dataTask.didReceiveResponse")
      #expect(question.data["response"]?["fromCache"]?.bool == isHit)
      let reader = try HTTPClient(port: ferry.port)
      try reader.socket.write("GET /v1/tasks/\(id)/body HTTP/1.1\r\nHost: 127.0.0.1:\(ferry.port)\r\n\r\n")
      #expect(try reader.readHead().status == 200)
      #expect(try ferry.answer(question.decision, #"{"disposition":"allow"}"#).status == 200)
      var received: [UInt8] = []
      while let chunk = try reader.readChunk() { received += chunk }
      #expect(received == bytes)
      #expect(try ferry.end(of: id).isFromCache == isHit)
    }
    #expect(origin.count("/live") == 1)
  }

  @Test func `many tasks are served at once`() throws {
    let bytes = Pattern.bytes(100 << 10)
    origin.serve("/many", bytes, CacheOrigin.fresh)
    let digest = try client.load("/many").sha256
    let line = #"{"kind":"data","resume":true,"request":{"url":"\#(origin.url)/many"}}"#
    let reply = try ferry.call(
      "POST", "/v1/sessions/\(client.session)/tasks",
      Array(repeating: line, count: 200).joined(separator: "\n"),
      [("Content-Type", "application/x-ndjson")])
    #expect(reply.lines.count == 200)
    for id in reply.lines.map(\.id) {
      let task = try ferry.end(of: id)
      #expect(task.isFromCache && task.sha256 == digest && task["error"] == .null)
    }
    #expect(origin.count("/many") == 1)
  }

  @Test func `scheme is part of the key`() throws {
    let nginx = try NginxServer(isCacheable: true)
    let ferry = try FerryProcess(options: ["--ca-file", nginx.authorityFile])
    for face in [NginxServer.Site.plain, .good, .plain, .good] {
      _ = try ferry.run(nginx.url(face, "/hello.txt"), kind: "data")
    }
    let entries = try ferry.call("GET", "/v1/sessions/ses_shared/cache").json["entries"]?.elements ?? []
    #expect(
      Set(entries.compactMap { $0["url"]?.string })
        == [nginx.url(.plain, "/hello.txt"), nginx.url(.good, "/hello.txt")])
  }

  @Test func `stored response survives the service`() throws {
    let directory = TemporaryDirectory.make("cache")
    defer { try? FileManager.default.removeItem(atPath: directory) }
    let sizes = [1024, 100 << 10, 1_000_000]
    for size in sizes { origin.serve("/\(size)", Pattern.bytes(size), CacheOrigin.fresh) }
    var session: String?
    for isSecond in [false, true] {
      let ferry = try FerryProcess(directory: directory)
      let client = try CacheClient(ferry, origin, session: session)
      session = client.session
      for size in sizes {
        let task = try client.load("/\(size)")
        #expect(task.isFromCache == isSecond)
        #expect(try ferry.body(of: task.id) == Pattern.bytes(size))
      }
      #expect(ferry.terminate() == 0)
    }
    #expect(sizes.allSatisfy { origin.count("/\($0)") == 1 })
  }
}

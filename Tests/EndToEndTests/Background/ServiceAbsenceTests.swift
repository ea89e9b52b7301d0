import Foundation
import JSON
import TestSupport
import Testing

/// The worker continues while the service is down, and the next service finds its tasks.
@Suite(.serialized, .blocking) struct ServiceAbsenceTests {
  private static let ends = "task.didComplete"

  @Test(arguments: [(SIGTERM, false), (SIGKILL, false), (SIGTERM, true), (SIGKILL, true)])
  func `transfers continue without a service`(_ signal: Int32, _ endsMeanwhile: Bool) throws {
    let place = try BackgroundFixture()
    let origin = SlowOrigin(4_000_000, pace: 8_000, keepsBack: 200_000)
    let session = try place.session()
    let id = try place.ferry.create(origin.url + "/", kind: "download", session: session)
    #expect(try place.task(id, received: 50_000)["phase"]?.string == "transferring")
    let worker = try place.worker.wait()
    let known = try place.ferry.events("/v1/tasks/\(id)/events?after=0").next()?.id ?? 0
    place.stop(signal)
    let before = origin.sent
    usleep(1_000_000)
    #expect(origin.sent > before + 80_000 && origin.sent < origin.body.count)
    // A start may take long on a busy machine. So the task ends either before the start, or only after the checks that
    // follow it.
    origin.setPace(endsMeanwhile ? 600_000 : 1)
    if endsMeanwhile { usleep(1_000_000) }
    try place.start()
    #expect(place.worker.pid == worker)
    let found = try place.ferry.task(id)
    if !endsMeanwhile {
      #expect(found["state"]?.string == "running" && found["phase"]?.string == "transferring")
      origin.setPace(600_000)
    }
    for target in ["/v1/events", "/v1/sessions/\(session)/events"] {
      let events = try place.ferry.events(target, [("Last-Event-ID", "\(known)")]).read(upTo: Self.ends)
      // Progress events have no number and are not stored.
      #expect(events.compactMap(\.id).allSatisfy { $0 > known })
      #expect(events.count { $0.type == Self.ends } == 1)
      #expect(events.contains { $0.type == "downloadTask.didFinishDownloading" })
    }
    let task = try place.ferry.task(id)
    #expect(task["error"] == .null && task["retryCount"]?.integer == 0)
    #expect(try place.ferry.body(of: id) == origin.body)
    #expect(origin.connections == 1 && origin.answers.count == 1 && origin.sent == origin.body.count)
  }

  /// A worker is replaced if the service has other options, and kept if they are the same.
  @Test func `changed options replace the worker`() throws {
    let place = try BackgroundFixture()
    _ = try place.session()
    let first = try place.worker.wait()
    place.stop(SIGTERM)
    try place.start()
    _ = try place.ferry.background("b", #","delegate":{}"#)
    #expect(try place.worker.wait() == first)
    place.stop(SIGTERM)
    try place.start(options: ["--maximum-body-size", "7"])
    let second = try place.worker.wait(after: first)
    let origin = TestOrigin { _, socket in
      try socket.write(TestOrigin.reply("200 OK", Array("too much".utf8)))
      return true
    }
    let task = try place.ferry.end(
      of: place.ferry.create(origin.url + "/", session: place.ferry.background("a").json.id))
    #expect(task["error"]?["name"]?.string == "bodyTooLarge")
    #expect(place.worker.pid == second)
  }

  @Test(arguments: [SIGTERM, SIGKILL]) func `session is found again with its tasks`(_ signal: Int32) throws {
    let place = try BackgroundFixture()
    let origin = SlowOrigin(pace: 8_000, keepsBack: 200_000)
    let session = try place.session("photos")
    let ids = try (0..<3).map { _ in
      try place.ferry.create(origin.url + "/", kind: "download", session: session)
    }
    for id in ids { _ = try place.task(id, received: 1) }
    place.stop(signal)
    try place.start()
    let again = try place.ferry.background("photos", #","configuration":{},"delegate":{}"#)
    #expect(again.status == 200 && again.json.id == session)
    let running = try place.ferry.call("GET", "/v1/sessions/\(session)/tasks?state=running").json
    #expect(Set(running["items"]?.elements?.map(\.id) ?? []) == Set(ids))
    origin.setPace(600_000)
    for id in ids { #expect(try place.ferry.end(of: id)["error"] == .null) }
    #expect(origin.answers.count == 3 && origin.answers.allSatisfy { $0.first == 0 })
  }

  @Test func `worker starts only for a background session`() throws {
    let place = try BackgroundFixture()
    let origin = TestOrigin { _, socket in
      try socket.write(TestOrigin.reply("200 OK"))
      return true
    }
    #expect(try place.ferry.run(origin.url + "/")["error"] == .null)
    _ = try place.ferry.run(origin.url + "/", session: place.ferry.session())
    // The service checks for a needed worker twice in this time.
    usleep(1_000_000)
    #expect(place.worker.pid == nil && place.worker.log.isEmpty)
    _ = try place.session()
    #expect(try place.worker.wait() > 0)
  }

  /// A start deletes orphan files, but not the file of a running download.
  @Test func `only orphan files are deleted at the start`() throws {
    let place = try BackgroundFixture()
    let origin = SlowOrigin(pace: 20_000)
    let id = try place.ferry.create(origin.url + "/", kind: "download", session: place.session())
    _ = try place.task(id, received: 200_000)
    place.stop(SIGKILL)
    let bodies = place.directory + "/bodies/"
    let orphans = [".part", ".resume"].map { "tsk_0198c0de-0000-7000-8000-00000000000a" + $0 }
    for name in orphans { try "old".write(toFile: bodies + name, atomically: false, encoding: .utf8) }
    #expect(BodyFiles.path(id + ".part", in: place.directory) != nil)
    try place.start()
    for name in orphans {
      Patience.wait { FileManager.default.fileExists(atPath: bodies + name) }
      #expect(!FileManager.default.fileExists(atPath: bodies + name), "\(name)")
    }
    #expect(try place.ferry.end(of: id)["error"] == .null)
    #expect(try place.ferry.body(of: id) == origin.body && origin.answers.count == 1)
  }
}

import Foundation
import JSON
import Synchronization
import TestSupport
import Testing

/// A worker that ends in the middle of its tasks, by SIGTERM or SIGKILL. The next worker continues them.
@Suite(.serialized, .blocking) struct WorkerDeathTests {
  private static let ends = "task.didComplete"

  @Test(arguments: [SIGKILL, SIGTERM]) func `download continues from its last byte`(_ signal: Int32) throws {
    let place = try BackgroundFixture()
    let origin = SlowOrigin(pace: 8_000, keepsBack: 200_000)
    let id = try place.ferry.create(origin.url + "/", kind: "download", session: place.session())
    _ = try place.task(id, received: 200_000)
    let former = try place.worker.wait()
    #expect(try place.worker.send(signal, patience: 5))
    let next = try place.worker.wait(after: former)
    origin.setPace(600_000)
    let story = try place.ferry.story(of: id)
    #expect(next != former && story.count { $0.type == Self.ends } == 1)
    #expect(try place.ferry.body(of: id) == origin.body)
    let answers = origin.answers
    try #require(answers.count == 2)
    #expect(answers[1].first >= 180_000 && answers[1].first <= answers[0].sent)
    #expect(answers[1].condition == SlowOrigin.tag)
    // The service, as the worker's parent, logs its exit status.
    let log = String(decoding: place.ferry.log, as: UTF8.self)
    #expect(log.contains(#""status":"\#(signal == SIGTERM ? 0 : 9)""#), "\(log)")
    #expect(try place.ferry.task(id)["retryCount"]?.integer == 0)
  }

  @Test(arguments: [SIGKILL, SIGTERM]) func `upload is sent again`(_ signal: Int32) throws {
    let place = try BackgroundFixture()
    let (bytes, bodies) = (NginxServer.contents(8_000_000), Bodies())
    let origin = TestOrigin(readsBodies: false) { request, socket in
      if bodies.isFirst() {
        _ = try socket.read(exactly: 100_000)
        bodies.begun.open()
        bodies.end.wait()
        return false
      }
      bodies.add(try TestOrigin.read(bodyOf: request, from: socket))
      try socket.write(TestOrigin.reply("201 Created"))
      return true
    }
    let id = try place.upload(bytes, to: origin.url + "/", session: place.session())
    #expect(bodies.begun.wait())
    #expect(try place.worker.send(signal))
    bodies.end.open()
    let story = try place.ferry.story(of: id)
    #expect(story.count { $0.type == Self.ends } == 1)
    let task = try place.ferry.task(id)
    #expect(task["error"] == .null && task["response"]?["status"]?.integer == 201)
    #expect(task["progress"]?["countOfBytesSent"]?.integer == 8_000_000)
    #expect(bodies.all == [bytes])
  }

  /// Without a service, no worker is started. The next service starts one.
  @Test func `download survives the death of service and worker`() throws {
    let place = try BackgroundFixture()
    let origin = SlowOrigin(pace: 8_000, keepsBack: 200_000)
    let id = try place.ferry.create(origin.url + "/", kind: "download", session: place.session())
    _ = try place.task(id, received: 200_000)
    place.stop(SIGKILL)
    #expect(try place.worker.send(SIGKILL))
    try place.start()
    origin.setPace(600_000)
    let story = try place.ferry.story(of: id)
    #expect(story.count { $0.type == Self.ends } == 1)
    #expect(try place.ferry.task(id)["error"] == .null)
    #expect(try place.ferry.body(of: id) == origin.body)
    #expect(origin.answers.map { $0.first > 0 } == [false, true])
  }
}

/// The bodies that an origin received, and the gates of its first response.
private final class Bodies: Sendable {
  let begun = Gate()
  let end = Gate()
  private let state = Mutex<(count: Int, all: [[UInt8]])>((0, []))

  var all: [[UInt8]] { state.withLock { $0.all } }
  func isFirst() -> Bool {
    state.withLock { state in
      state.count += 1
      return state.count == 1
    }
  }
  func add(_ body: [UInt8]) { state.withLock { $0.all.append(body) } }
}

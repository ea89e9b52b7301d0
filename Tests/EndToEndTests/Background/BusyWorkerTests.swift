import Foundation
import JSON
import TestSupport
import Testing

/// A worker with thousands of small downloads writes constantly. The service must still start and answer in time.
@Suite(.serialized, .blocking) struct BusyWorkerTests {
  private static let count = 3000
  private static let batch = 250

  private let origin = TestOrigin { _, socket in
    try socket.write(TestOrigin.reply("200 OK", Array("ok".utf8)))
    return true
  }

  /// Creates `count` tasks in batches, and expects that each line succeeds.
  private func post(_ count: Int, to session: String, _ ferry: FerryProcess) throws -> [String] {
    let line = #"{"kind":"download","resume":true,"request":{"url":"\#(origin.url)/"}}"# + "\n"
    var ids: [String] = []
    for _ in 0..<(count / Self.batch) {
      let reply = try ferry.call(
        "POST", "/v1/sessions/\(session)/tasks", String(repeating: line, count: Self.batch),
        [("Content-Type", "application/x-ndjson")])
      #expect(reply.lines.count == Self.batch)
      ids += reply.lines.compactMap { $0["id"]?.string }
    }
    #expect(ids.count == count)
    return ids
  }

  private func start(_ place: BackgroundFixture) throws -> Duration {
    let begin = ContinuousClock.now
    try place.start()
    return .now - begin
  }

  @Test func `service starts and answers next to a busy worker`() throws {
    let (place, calm) = (try BackgroundFixture(), try BackgroundFixture())
    let session = try place.session("a", #"{"httpMaximumConnectionsPerHost":64}"#)
    _ = try place.worker.wait()
    var ids = try post(Self.count, to: session, place.ferry)
    var starts: [(busy: Duration, calm: Duration)] = []
    for _ in 0..<4 {
      place.stop(SIGKILL)
      calm.stop(SIGKILL)
      starts.append((try start(place), try start(calm)))
      ids += try post(Self.batch, to: session, place.ferry)
    }
    // A busy start may take twice the time of a start without a writer, because the worker uses part of the CPU. The
    // limit adds the second by which a busy worker may delay a start.
    #expect(starts.contains { $0.busy < $0.calm * 2 + .seconds(1) }, "\(starts)")
    for id in ids {
      let task = try place.ferry.poll("/v1/tasks/\(id)") { $0["state"]?.string == "completed" }
      #expect(task["state"]?.string == "completed" && task["error"] == .null, "\(task)")
    }
  }
}

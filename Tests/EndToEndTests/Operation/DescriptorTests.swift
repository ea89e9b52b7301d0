import Foundation
import JSON
import TestSupport
import Testing

/// More sessions and clients than file descriptors: idle sessions release theirs, and the service keeps running.
@Suite(.serialized, .blocking) struct DescriptorTests {
  /// Starts a service with a limit of descriptors.
  private func ferry(_ limit: Int) throws -> FerryProcess {
    try FerryProcess(wrapper: ["prlimit", "--nofile=\(limit):\(limit)"])
  }

  private func descriptors(of ferry: FerryProcess) throws -> Int {
    try FileManager.default.contentsOfDirectory(atPath: "/proc/\(ferry.processIdentifier)/fd").count
  }

  private func origin() -> TestOrigin {
    TestOrigin { _, socket in
      try socket.write(TestOrigin.reply("200 OK", Array("well".utf8)))
      return true
    }
  }

  @Test func `idle sessions release their descriptors`() throws {
    let (ferry, origin) = (try ferry(256), origin())
    let first = try ferry.session()
    for _ in 0..<200 {
      let task = try ferry.run(origin.url, kind: "download", session: ferry.session())
      #expect(task["error"] == .null)
    }
    #expect(try descriptors(of: ferry) < 128)
    #expect(try ferry.run(origin.url, session: first)["error"] == .null)
    #expect(try ferry.call("GET", "/readyz").status == 200)
  }

  /// More active sessions than descriptors: some tasks fail, with an error that says why.
  @Test func `active sessions leave descriptors for clients`() throws {
    let gate = Gate()
    let origin = TestOrigin { _, socket in
      gate.wait()
      try socket.write(TestOrigin.reply("200 OK", Array("well".utf8)))
      return true
    }
    let ferry = try ferry(200)
    let tasks = try (0..<120).map { _ in try ferry.create(origin.url, session: ferry.session()) }
    // New clients are still served.
    for _ in 0..<20 { #expect(try ferry.call("GET", "/readyz").status == 200) }
    #expect(try descriptors(of: ferry) <= 200)
    gate.openForGood()
    var failed = 0
    for id in tasks {
      let task = try ferry.end(of: id)
      guard task["error"] != .null else { continue }
      failed += 1
      #expect(task.errorCode == -1004 || task.errorCode == -1003)
    }
    #expect(failed > 0 && failed < 120)
    #expect(try ferry.run(origin.url, session: ferry.session())["error"] == .null)
  }

  /// With more clients than descriptors, the others wait until some disconnect.
  @Test func `clients without a descriptor wait`() throws {
    let ferry = try ferry(128)
    do {
      let clients = try (0..<200).map { _ in try ferry.client() }
      #expect(try clients[0].send("GET", "/readyz").status == 200)
      let gauge = ProcessUsage(ferry.processIdentifier)
      let before = try gauge.processorTime()
      usleep(500_000)
      #expect(try gauge.processorTime() - before < 0.25)  // The waiting service does not spin.
    }
    #expect(try ferry.call("GET", "/readyz").status == 200)
  }
}

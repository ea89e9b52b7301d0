import Foundation
import JSON
import Synchronization
import TestSupport
import Testing

/// Task priorities, which swift-corelibs-foundation ignores, and `httpMaximumConnectionsPerHost`.
@Suite(.serialized, .blocking, .sharing) struct FairnessTests {
  /// Counts the simultaneous requests and the connections of an origin.
  private final class Count: Sendable {
    private struct State {
      var now = 0
      var most = 0
      var connections: Set<Int32> = []
    }
    private let state = Mutex(State())
    var now: Int { state.withLock { $0.now } }
    var most: Int { state.withLock { $0.most } }
    var connections: Int { state.withLock { $0.connections.count } }
    func begin(_ socket: Socket) {
      state.withLock {
        $0.now += 1
        $0.most = max($0.most, $0.now)
        $0.connections.insert(socket.descriptor)
      }
    }
    func end() { state.withLock { $0.now -= 1 } }
  }

  private let ferry: FerryProcess
  private let gate: Gate
  private let count: Count
  /// Answers `/wait…` when the gate opens.
  private let origin: TestOrigin
  /// Redirects to `origin`.
  private let redirector: TestOrigin

  init() throws {
    ferry = try .ofSuite()
    let gate = Gate()
    self.gate = gate
    let count = Count()
    self.count = count
    let origin = TestOrigin { request, socket in
      guard request.path.hasPrefix("/wait") else {
        try socket.write(TestOrigin.reply("200 OK", Array("ok".utf8)))
        return true
      }
      count.begin(socket)
      gate.wait()
      // Counted before the response, because the next request on this connection may arrive before this thread
      // continues.
      count.end()
      try socket.write(TestOrigin.reply("200 OK", Array("waited".utf8)))
      return true
    }
    self.origin = origin
    let url = origin.url
    redirector = TestOrigin { request, socket in
      try socket.write(TestOrigin.reply("302 Found", [], [("Location", url + request.path)]))
      return true
    }
  }

  private func create(_ path: String, priority: Double, session: String) throws -> String {
    let body =
      #"{"kind":"data","resume":true,"priority":\#(priority),"request":{"url":"\#(origin.url)\#(path)"}}"#
    return try ferry.call("POST", "/v1/sessions/\(session)/tasks", body).json.id
  }

  /// Returns a session whose only connection is occupied until the gate opens.
  private func occupiedSession() throws -> String {
    let session = try ferry.session(#"{"httpMaximumConnectionsPerHost":1}"#)
    let id = try create("/wait", priority: 0.5, session: session)
    _ = try ferry.poll("/v1/tasks/\(id)") { _ in count.now == 1 }
    return session
  }

  private func expectOrder(_ ids: [String], _ paths: [String]) throws {
    for id in ids { #expect(try ferry.end(of: id)["error"] == .null) }
    #expect(origin.requests.map(\.path).filter { $0.hasPrefix("/p") } == paths)
    #expect(count.most == 1)
  }

  @Test func `higher priority goes first`() throws {
    let session = try occupiedSession()
    let priorities = [0, 0.25, 1, 0.5, 0.75, 0.5]
    let ids = try priorities.enumerated().map {
      try create("/p\($0.offset)", priority: $0.element, session: session)
    }
    for id in ids { _ = try ferry.poll("/v1/tasks/\(id)") { $0["phase"]?.string == "queued" } }
    try ferry.waitForEarlierCommands(origin.url + "/settled")
    gate.open()
    // Tasks of equal priority run in order of creation.
    try expectOrder(ids, ["/p2", "/p4", "/p3", "/p5", "/p1", "/p0"])
  }

  @Test func `priority may change while the task waits`() throws {
    let session = try occupiedSession()
    let ids = try [0.9, 0.5, 0.1].enumerated().map {
      try create("/p\($0.offset)", priority: $0.element, session: session)
    }
    for (id, priority) in [(ids[2], 1.0), (ids[0], 0.2)] {
      let reply = try ferry.call("PATCH", "/v1/tasks/\(id)", #"{"priority":\#(priority)}"#)
      #expect(reply.status == 200 && reply.json["priority"]?.double == priority)
    }
    try ferry.waitForEarlierCommands(origin.url + "/settled")
    gate.open()
    try expectOrder(ids, ["/p2", "/p1", "/p0"])
  }

  @Test(arguments: [1, 2, 6], [false, true])
  func `connections per host are limited`(_ limit: Int, _ redirects: Bool) throws {
    let session = try ferry.session(#"{"httpMaximumConnectionsPerHost":\#(limit)}"#)
    let base = (redirects ? redirector : origin).url
    let ids = try (0..<limit * 3).map {
      try ferry.create(base + "/wait\($0)", kind: "data", session: session)
    }
    _ = try ferry.poll("/v1/sessions/\(session)") { _ in count.now == limit }
    if redirects {
      // Redirected tasks wait for a connection like the others.
      _ = try ferry.poll("/v1/sessions/\(session)") { _ in redirector.requests.count == limit * 3 }
      #expect(redirector.requests.count == limit * 3)
    }
    try ferry.waitForEarlierCommands(origin.url + "/settled")
    #expect(count.now == limit)
    for _ in ids { gate.open() }
    for id in ids { #expect(try ferry.end(of: id)["error"] == .null) }
    #expect(count.most == limit && count.connections <= limit)
  }

  /// The limit applies to each session separately.
  @Test func `sessions do not wait for each other`() throws {
    let busy = try occupiedSession()
    let waiting = try create("/p0", priority: 1, session: busy)
    let other = try ferry.session(#"{"httpMaximumConnectionsPerHost":1}"#)
    #expect(try ferry.run(origin.url + "/ok", session: other)["error"] == .null)
    #expect(try ferry.task(waiting)["phase"]?.string == "queued")
    gate.open()
    try expectOrder([waiting], ["/p0"])
  }

  /// A suspended task leaves the queue, and enters it again when it is resumed.
  @Test func `suspended task does not block the queue`() throws {
    let session = try occupiedSession()
    let first = try create("/p0", priority: 1, session: session)
    let second = try create("/p1", priority: 0, session: session)
    #expect(try ferry.act("suspend", first) == "suspended")
    try ferry.waitForEarlierCommands(origin.url + "/settled")
    gate.open()
    #expect(try ferry.end(of: second)["error"] == .null)
    #expect(try ferry.act("resume", first) == "running")
    try expectOrder([first], ["/p1", "/p0"])
  }
}

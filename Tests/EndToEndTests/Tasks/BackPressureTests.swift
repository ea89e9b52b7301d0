import Foundation
import JSON
import Synchronization
import TestSupport
import Testing

/// A slow reader of the body slows the origin. In swift-corelibs-foundation (#3204) the whole body collects in memory
/// (1.1 GB).
@Suite(.serialized, .blocking, .sharing) struct BackPressureTests {
  /// The number of blocks that the origin has passed to its kernel.
  private final class Count: Sendable {
    private let count = Mutex(0)
    var value: Int { count.withLock { $0 } }
    func add() { count.withLock { $0 += 1 } }
  }
  private static let blocks = 64
  private static let pattern = NginxServer.contents(1 << 20)

  private let ferry: FerryProcess
  private let session: String
  private let count: Count
  private let gate: Gate
  private let origin: TestOrigin

  init() throws {
    ferry = try .ofSuite()
    session = try ferry.session()
    // Created in advance, so that the origin is not slow while timeouts run.
    _ = Self.pattern
    let gate = Gate()
    self.gate = gate
    let count = Count()
    self.count = count
    origin = TestOrigin { request, socket in
      switch request.path {
      case "/silent": return try socket.readSome() != nil
      case "/large":
        try socket.write("HTTP/1.1 200 OK\r\nContent-Length: \(Self.blocks << 20)\r\n\r\n")
        for index in 0..<Self.blocks {
          try socket.write(Self.block(index))
          count.add()
          // Without a reader, Ferry does not slow the origin.
          if index == 0 { gate.wait() }
        }
      default: try socket.write(TestOrigin.reply("200 OK", Array("ok".utf8)))
      }
      return true
    }
  }

  /// A block of 1 MiB whose first byte is its index.
  private static func block(_ index: Int) -> [UInt8] { [UInt8(index)] + pattern.dropFirst() }

  /// Creates a task and waits until its first block has arrived.
  private func large(_ request: String = "") throws -> String {
    let id = try ferry.create(origin.url + "/large", kind: "data", session: session, request: request)
    #expect(try ferry.poll("/v1/tasks/\(id)") { $0.received == 1 << 20 }.received == 1 << 20)
    return id
  }

  /// Returns a reader of the body that has read only the response's head. The origin then sends the other blocks.
  private func reader(_ id: String) throws -> HTTPClient {
    let client = try HTTPClient(port: ferry.port)
    try client.socket.write("GET /v1/tasks/\(id)/body HTTP/1.1\r\nHost: 127.0.0.1:\(ferry.port)\r\n\r\n")
    #expect(try client.readHead().status == 200)
    gate.open()
    return client
  }

  /// Waits one second by the service's own clock.
  private func passASecond() throws {
    #expect(try ferry.run(origin.url + "/silent", request: #","timeoutInterval":1"#).errorCode == -1001)
  }

  /// Waits until the origin has sent no block for a second. The kernels buffer some megabytes in both directions.
  private func waitUntilHeld() throws {
    var before = -1
    while count.value != before, count.value < Self.blocks {
      before = count.value
      try passASecond()
    }
    #expect(count.value < 48)
  }

  private func read(_ client: HTTPClient) throws -> Data {
    var data = Data(capacity: Self.blocks << 20)
    while let chunk = try client.readChunk() { data += chunk }
    return data
  }

  private static let whole = (0..<blocks).reduce(into: Data(capacity: blocks << 20)) { $0 += block($1) }

  /// The pause does not count for `timeoutInterval`, because the origin is not slow.
  @Test func `reader that stops also stops the origin`() throws {
    let id = try large(#","timeoutInterval":3"#)
    let client = try reader(id)
    try waitUntilHeld()
    for _ in 0..<3 { try passASecond() }
    let held = count.value
    let other = try ferry.run(origin.url + "/ok", kind: "data", session: session)
    #expect(other["error"] == .null && other["body"]?["size"]?.integer == 2)
    #expect(count.value == held)
    #expect(try ferry.task(id)["phase"]?.string == "transferring")
    #expect(try read(client) == Self.whole)
    let task = try ferry.end(of: id)
    #expect(task["error"] == .null && task["body"]?["size"]?.integer == Int64(Self.blocks << 20))
    #expect(try ferry.body(of: id).count == Self.blocks << 20)
  }

  @Test func `reader that disconnects releases the transfer`() throws {
    let id = try large()
    do {
      let client = try reader(id)
      try waitUntilHeld()
      _ = try client.readChunk()
    }
    let task = try ferry.end(of: id)
    #expect(task["error"] == .null && task["body"]?["size"]?.integer == Int64(Self.blocks << 20))
  }

  /// Without a reader, the body goes to the disk at full speed.
  @Test func `unread body is not slowed`() throws {
    let id = try large()
    gate.open()
    #expect(try ferry.end(of: id)["error"] == .null)
    #expect(try Data(ferry.body(of: id)) == Self.whole)
  }

  @Test func `task with a stopped reader can be cancelled`() throws {
    let id = try large()
    let client = try reader(id)
    try waitUntilHeld()
    #expect(try ferry.act("cancel", id) == "canceling")
    #expect(try ferry.end(of: id).errorCode == -999)
    // The reader's body ends early, with an error.
    #expect(throws: (any Error).self) { try read(client) }
  }
}

import JSON
import TestSupport
import Testing

/// Bodies as inline events, for a late reader and for a stalled one.
@Suite(.serialized, .blocking, .sharing) struct InlineReaderTests {
  private let ferry: FerryProcess
  private let gate: Gate
  private let origin: TestOrigin
  private static let large = NginxServer.contents(3_000_000)

  init() throws {
    ferry = try .ofSuite()
    let gate = Gate()
    self.gate = gate
    origin = TestOrigin { request, socket in
      switch request.path {
      case "/held":
        try socket.write("HTTP/1.1 200 OK\r\nContent-Length: 400000\r\n\r\n")
        try socket.write(Array(Self.large.prefix(200_000)))
        gate.wait()
        try socket.write(Array(Self.large[200_000..<400_000]))
        return true
      default:
        let size = Int(request.path.dropFirst()) ?? 0
        try socket.write(TestOrigin.reply("200 OK", Array(Self.large.prefix(size))))
      }
      return true
    }
  }

  @Test func `late reader receives the body from its start`() throws {
    let id = try ferry.create(origin.url + "/held")
    _ = try ferry.poll("/v1/tasks/\(id)") { $0.received == 200_000 }
    // One reader starts after the response, which is followed by other events.
    for verb in ["suspend", "resume"] { _ = try ferry.act(verb, id) }
    let seen = try ferry.events("/v1/tasks/\(id)/events?after=0").read(upTo: "dataTask.didReceiveResponse")
    let response = try #require(seen.last?.id)
    let readers = try ["?data=inline", "?data=inline&after=0", "?data=inline&after=\(response)"].map {
      try ferry.events("/v1/tasks/\(id)/events" + $0)
    }
    for reader in readers {
      var early: [EventReader.Event] = []
      while try early.bytes(of: id).count < 200_000 { early.append(try #require(try reader.next())) }
      #expect(try early.bytes(of: id) == Array(Self.large.prefix(200_000)))
    }
    gate.open()
    for reader in readers {
      let rest = try reader.read(upTo: "task.didComplete")
      #expect(try rest.bytes(of: id) == Array(Self.large[200_000..<400_000]))
    }
  }

  /// In swift-corelibs-foundation#3204, a stalled reader is a problem. Here it slows the origin, and no reader loses a
  /// byte.
  @Test func `one of two readers may stall`() throws {
    let id = try ferry.create(origin.url + "/3000000", resume: false)
    let stalled = try ferry.events("/v1/tasks/\(id)/events?data=inline")
    let brisk = try ferry.events("/v1/tasks/\(id)/events?data=inline")
    _ = try ferry.act("resume", id)
    var early: [EventReader.Event] = []
    while try early.bytes(of: id).isEmpty { early.append(try #require(try brisk.next())) }
    // The progress of the brisk reader depends on the kernel's buffers for the other one.
    let late = try stalled.read(upTo: "task.didComplete")
    early += try brisk.read(upTo: "task.didComplete")
    #expect(try late.bytes(of: id) == Self.large)
    #expect(try early.bytes(of: id) == Self.large)
  }
}

import Foundation
import JSON
import TestSupport
import Testing

/// urlSession(_:dataTask:didReceive:), §1d: the bytes of a body as events, each at its place.
@Suite(.serialized, .blocking, .sharing) struct InlineDataTests {
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
      case "/cut":
        try socket.write("HTTP/1.1 200 OK\r\nContent-Length: 400000\r\n\r\n")
        try socket.write(Array(Self.large.prefix(200_000)))
        return false
      case "/held":
        try socket.write("HTTP/1.1 200 OK\r\nContent-Length: 400000\r\n\r\n")
        try socket.write(Array(Self.large.prefix(200_000)))
        gate.wait()
        try socket.write(Array(Self.large[200_000..<400_000]))
        return true
      case "/page": try socket.write(TestOrigin.reply("404 Not Found", Array("a page".utf8)))
      default:
        let size = Int(request.path.dropFirst()) ?? 0
        try socket.write(TestOrigin.reply("200 OK", Array(Self.large.prefix(size))))
      }
      return true
    }
  }

  /// What the events brought, and that they count it as they go.
  private func bytes(_ events: [EventReader.Event], of id: String) throws -> [UInt8] {
    var bytes: [UInt8] = []
    for event in events where event.type == "dataTask.didReceiveData" && event.task == id {
      let text = try #require(event.data["data"]?.string)
      let piece = try #require(Data(base64Encoded: text))
      bytes += piece
      #expect(event.id == nil && !piece.isEmpty)
    }
    return bytes
  }

  private func types(_ events: [EventReader.Event]) -> [String] {
    events.map(\.type).filter { $0 != "task.didChangeState" && $0 != "task.didCreate" }
      .reduce(into: []) { if $0.last != $1 { $0.append($1) } }
  }

  @Test(arguments: [0, 1, 100_000, 3_000_000], ["tasks", "sessions"])
  func theEventsBringTheBody(_ size: Int, _ scope: String) throws {
    let session = try ferry.session()
    let id = try ferry.create(origin.url + "/\(size)", session: session, resume: false)
    let events = try ferry.events("/v1/\(scope)/\(scope == "tasks" ? id : session)/events?data=inline")
    #expect(try ferry.act("resume", id) == "running")
    let all = try events.read(upTo: "task.didComplete")
    #expect(try bytes(all, of: id) == Array(Self.large.prefix(size)))
    let data = size == 0 ? [] : ["dataTask.didReceiveData"]
    #expect(
      types(all) == ["dataTask.didReceiveResponse"] + data + [
        "task.didFinishCollectingMetrics", "task.didComplete",
      ])
    #expect(try ferry.task(id)["body"]?["size"]?.integer == Int64(size))
  }

  /// A session's stream brings the bytes of all its tasks, of none twice and of none to another.
  @Test func aSessionsTasksAreToldApart() throws {
    let session = try ferry.session()
    let events = try ferry.events("/v1/sessions/\(session)/events?data=inline")
    let sizes = [1, 70_000, 300_000, 500_000]
    let ids = try sizes.map { try ferry.create(origin.url + "/\($0)", session: session) }
    var all: [EventReader.Event] = []
    while all.filter({ $0.type == "task.didComplete" }).count < ids.count {
      all.append(try #require(try events.next()))
    }
    for (id, size) in zip(ids, sizes) {
      let own = all.filter { $0.task == id }
      #expect(try bytes(own, of: id) == Array(Self.large.prefix(size)))
      #expect(own.last?.type == "task.didComplete")
      #expect(Array(types(own).prefix(2)) == ["dataTask.didReceiveResponse", "dataTask.didReceiveData"])
    }
  }

  @Test func whoComesLateGetsTheBodyFromItsStart() throws {
    let id = try ferry.create(origin.url + "/held")
    _ = try ferry.poll("/v1/tasks/\(id)") { $0.received == 200_000 }
    // One comes back behind the response, with other events after that.
    for verb in ["suspend", "resume"] { _ = try ferry.act(verb, id) }
    let seen = try ferry.events("/v1/tasks/\(id)/events?after=0").read(upTo: "dataTask.didReceiveResponse")
    let response = try #require(seen.last?.id)
    let readers = try ["?data=inline", "?data=inline&after=0", "?data=inline&after=\(response)"].map {
      try ferry.events("/v1/tasks/\(id)/events" + $0)
    }
    for reader in readers {
      var early: [EventReader.Event] = []
      while try bytes(early, of: id).count < 200_000 { early.append(try #require(try reader.next())) }
      #expect(try bytes(early, of: id) == Array(Self.large.prefix(200_000)))
    }
    gate.open()
    for reader in readers {
      let rest = try reader.read(upTo: "task.didComplete")
      #expect(try bytes(rest, of: id) == Array(Self.large[200_000..<400_000]))
    }
  }

  @Test func aTransferThatIsCutDeliversWhatCameBefore() throws {
    let id = try ferry.create(origin.url + "/cut", resume: false)
    let events = try ferry.events("/v1/tasks/\(id)/events?data=inline")
    _ = try ferry.act("resume", id)
    let all = try events.read(upTo: "task.didComplete")
    #expect(all.last?.data["error"]?["code"]?.integer == -1005)
    #expect(try bytes(all, of: id) == Array(Self.large.prefix(200_000)))
  }

  @Test func aCancelledTaskDeliversWhatCameBefore() throws {
    let id = try ferry.create(origin.url + "/held", resume: false)
    let events = try ferry.events("/v1/tasks/\(id)/events?data=inline")
    _ = try ferry.act("resume", id)
    var all: [EventReader.Event] = []
    while try bytes(all, of: id).count < 200_000 { all.append(try #require(try events.next())) }
    _ = try ferry.act("cancel", id)
    all += try events.read(upTo: "task.didComplete")
    #expect(all.last?.data["error"]?["code"]?.integer == -999)
    #expect(try bytes(all, of: id) == Array(Self.large.prefix(200_000)))
    gate.open()
  }

  /// httpNotFound: an error's page is a body like any other.
  @Test func anErrorsPageIsDelivered() throws {
    let id = try ferry.create(origin.url + "/page", resume: false)
    let events = try ferry.events("/v1/tasks/\(id)/events?data=inline")
    _ = try ferry.act("resume", id)
    #expect(try bytes(events.read(upTo: "task.didComplete"), of: id) == Array("a page".utf8))
  }

  @Test(arguments: [
    ("dataTask.didReceiveData,task.didComplete", true),
    ("dataTask.didReceiveResponse,task.didComplete", false),
  ]) func theFilterOfTypesHolds(_ wanted: String, _ hasData: Bool) throws {
    let id = try ferry.create(origin.url + "/100000", resume: false)
    let events = try ferry.events("/v1/tasks/\(id)/events?data=inline&types=\(wanted)")
    _ = try ferry.act("resume", id)
    let all = try events.read(upTo: "task.didComplete")
    #expect(Set(all.map(\.type)) == Set(wanted.split(separator: ",").map(String.init)))
    #expect(try bytes(all, of: id) == (hasData ? Array(Self.large.prefix(100_000)) : []))
  }

  @Test(arguments: ["", "base64", "true", "Inline", "inline,inline"])
  func anotherValueOfDataIsRefused(_ value: String) throws {
    let reply = try ferry.call("GET", "/v1/events?data=\(value)")
    #expect(reply.status == 400 && reply.text.contains("data"))
  }

  @Test func withoutItTheEventsHaveCountsAndNoBytes() throws {
    let id = try ferry.create(origin.url + "/held", resume: false)
    let events = try ferry.events("/v1/tasks/\(id)/events")
    _ = try ferry.act("resume", id)
    let first = try #require(try events.read(upTo: "dataTask.didReceiveData").last)
    #expect(first.data["data"] == nil)
    gate.open()
    #expect(try events.read(upTo: "task.didComplete").allSatisfy { $0.data["data"] == nil })
  }

  @Test func aDownloadHasNoDataEvents() throws {
    let id = try ferry.create(origin.url + "/3000000", kind: "download", resume: false)
    let events = try ferry.events("/v1/tasks/\(id)/events?data=inline")
    _ = try ferry.act("resume", id)
    let all = try events.read(upTo: "task.didComplete")
    #expect(
      !all.contains { $0.type == "dataTask.didReceiveData" || $0.type == "dataTask.didReceiveResponse" })
    #expect(try ferry.body(of: id) == Self.large)
  }

  /// #3204: who stalls holds the origin, and loses nothing; nor does who reads on meanwhile.
  @Test func oneOfTwoReadersMayStall() throws {
    let id = try ferry.create(origin.url + "/3000000", resume: false)
    let stalled = try ferry.events("/v1/tasks/\(id)/events?data=inline")
    let brisk = try ferry.events("/v1/tasks/\(id)/events?data=inline")
    _ = try ferry.act("resume", id)
    var early: [EventReader.Event] = []
    while try bytes(early, of: id).isEmpty { early.append(try #require(try brisk.next())) }
    // How far the brisk one gets depends on what the kernel holds for the other.
    let late = try stalled.read(upTo: "task.didComplete")
    early += try brisk.read(upTo: "task.didComplete")
    #expect(try bytes(late, of: id) == Self.large)
    #expect(try bytes(early, of: id) == Self.large)
  }
}

import JSON
import TestSupport
import Testing

/// urlSession(_:dataTask:didReceive:), §1d: events that contain the bytes of a body and their offset.
@Suite(.serialized, .blocking, .sharing) struct InlineDataTests {
  private let place: InProcessAPI
  private let gate: Gate
  private let origin: TestOrigin
  private static let large = NginxServer.contents(3_000_000)

  init() throws {
    place = try .ofSuite()
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

  private func types(_ events: [EventReader.Event]) -> [String] {
    events.map(\.type).filter { $0 != "task.didChangeState" && $0 != "task.didCreate" }
      .reduce(into: []) { if $0.last != $1 { $0.append($1) } }
  }

  @Test(arguments: [0, 1, 100_000, 3_000_000], ["tasks", "sessions"])
  func `inline events contain the whole body`(_ size: Int, _ scope: String) throws {
    let session = try place.session()
    let id = try place.create(origin.url + "/\(size)", session: session, resume: false)
    let events = try place.events("/v1/\(scope)/\(scope == "tasks" ? id : session)/events?data=inline")
    #expect(try place.act("resume", id) == "running")
    let all = try events.read(upTo: "task.didComplete")
    #expect(try all.bytes(of: id) == Array(Self.large.prefix(size)))
    let data = size == 0 ? [] : ["dataTask.didReceiveData"]
    #expect(
      types(all) == ["dataTask.didReceiveResponse"] + data + [
        "task.didFinishCollectingMetrics", "task.didComplete",
      ])
    #expect(try place.task(id)["body"]?["size"]?.integer == Int64(size))
  }

  /// A session's stream contains the bytes of all its tasks exactly once.
  @Test func `session stream separates the bytes of its tasks`() throws {
    let session = try place.session()
    let events = try place.events("/v1/sessions/\(session)/events?data=inline")
    let sizes = [1, 70_000, 300_000, 500_000]
    let ids = try sizes.map { try place.create(origin.url + "/\($0)", session: session) }
    var all: [EventReader.Event] = []
    while all.filter({ $0.type == "task.didComplete" }).count < ids.count {
      all.append(try #require(try events.next()))
    }
    for (id, size) in zip(ids, sizes) {
      let own = all.filter { $0.task == id }
      #expect(try own.bytes(of: id) == Array(Self.large.prefix(size)))
      #expect(own.last?.type == "task.didComplete")
      #expect(Array(types(own).prefix(2)) == ["dataTask.didReceiveResponse", "dataTask.didReceiveData"])
    }
  }

  @Test func `interrupted transfer delivers the bytes before the error`() throws {
    let id = try place.create(origin.url + "/cut", resume: false)
    let events = try place.events("/v1/tasks/\(id)/events?data=inline")
    _ = try place.act("resume", id)
    let all = try events.read(upTo: "task.didComplete")
    #expect(all.last?.data["error"]?["code"]?.integer == -1005)
    #expect(try all.bytes(of: id) == Array(Self.large.prefix(200_000)))
  }

  @Test func `cancelled task delivers the bytes before its end`() throws {
    let id = try place.create(origin.url + "/held", resume: false)
    let events = try place.events("/v1/tasks/\(id)/events?data=inline")
    _ = try place.act("resume", id)
    var all: [EventReader.Event] = []
    while try all.bytes(of: id).count < 200_000 { all.append(try #require(try events.next())) }
    _ = try place.act("cancel", id)
    all += try events.read(upTo: "task.didComplete")
    #expect(all.last?.data["error"]?["code"]?.integer == -999)
    #expect(try all.bytes(of: id) == Array(Self.large.prefix(200_000)))
    gate.open()
  }

  /// httpNotFound: the body of an error response is an ordinary body.
  @Test func `body of an error response is delivered`() throws {
    let id = try place.create(origin.url + "/page", resume: false)
    let events = try place.events("/v1/tasks/\(id)/events?data=inline")
    _ = try place.act("resume", id)
    #expect(try events.read(upTo: "task.didComplete").bytes(of: id) == Array("a page".utf8))
  }

  @Test(arguments: [
    ("dataTask.didReceiveData,task.didComplete", true),
    ("dataTask.didReceiveResponse,task.didComplete", false),
  ]) func `filter of event types is honoured`(_ wanted: String, _ hasData: Bool) throws {
    let id = try place.create(origin.url + "/100000", resume: false)
    let events = try place.events("/v1/tasks/\(id)/events?data=inline&types=\(wanted)")
    _ = try place.act("resume", id)
    let all = try events.read(upTo: "task.didComplete")
    #expect(Set(all.map(\.type)) == Set(wanted.split(separator: ",").map(String.init)))
    #expect(try all.bytes(of: id) == (hasData ? Array(Self.large.prefix(100_000)) : []))
  }

  @Test(arguments: ["", "base64", "true", "Inline", "inline,inline"])
  func `unknown value of data is refused`(_ value: String) throws {
    let reply = try place.call("GET", "/v1/events?data=\(value)")
    #expect(reply.status == 400 && reply.text.contains("data"))
  }

  @Test func `events without inline data contain counts only`() throws {
    let id = try place.create(origin.url + "/held", resume: false)
    let events = try place.events("/v1/tasks/\(id)/events")
    _ = try place.act("resume", id)
    let first = try #require(try events.read(upTo: "dataTask.didReceiveData").last)
    #expect(first.data["data"] == nil)
    gate.open()
    #expect(try events.read(upTo: "task.didComplete").allSatisfy { $0.data["data"] == nil })
  }

  @Test func `download has no data events`() throws {
    let id = try place.create(origin.url + "/3000000", kind: "download", resume: false)
    let events = try place.events("/v1/tasks/\(id)/events?data=inline")
    _ = try place.act("resume", id)
    let all = try events.read(upTo: "task.didComplete")
    #expect(
      !all.contains { $0.type == "dataTask.didReceiveData" || $0.type == "dataTask.didReceiveResponse" })
    #expect(try place.body(of: id) == Self.large)
  }
}

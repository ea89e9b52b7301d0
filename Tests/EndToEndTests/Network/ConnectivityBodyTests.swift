import JSON
import TestSupport
import Testing

/// Tasks that send something, and wait for a network first.
@Suite(.serialized, .blocking) struct ConnectivityBodyTests {
  private let place: CablePlace
  private let session: String
  private var ferry: FerryProcess { place.ferry }

  init() throws {
    place = try CablePlace()
    session = try place.patientSession()
  }

  private func create(_ kind: String, _ body: String) throws -> String {
    try ferry.create(
      place.url, kind: kind, session: session, request: #","method":"PUT","body":\#(body)"#)
  }

  /// What the origin saw of the body, all of it once.
  private func reply(to id: String) throws -> String {
    let body = try place.success(of: id, isPrompt: false)
    #expect(place.origin.requests.count == 1)
    return String(decoding: body, as: UTF8.self)
  }

  @Test(arguments: ["upload", "data", "download"])
  func whatIsSentFromAFileIsSentOnce(_ kind: String) throws {
    let file = try ferry.store(Pattern.bytes(300_001))
    let id = try create(kind, #"{"file":"\#(file)"}"#)
    try place.waitForTheEvent(id)
    #expect(try ferry.task(id)["progress"]?["countOfBytesSent"]?.integer == 0)
    try place.raise()
    #expect(try reply(to: id) == "300001 true")
    let progress = try ferry.task(id)["progress"]
    #expect(progress?["countOfBytesSent"]?.integer == 300_001)
    #expect(progress?["countOfBytesExpectedToSend"]?.integer == 300_001)
  }

  @Test func whatIsSentInlineIsSentOnce() throws {
    let text = Array(repeating: "0123456789", count: 2000).joined()
    let id = try create("upload", #"{"text":"\#(text)"}"#)
    try place.waitForTheEvent(id)
    try place.raise()
    #expect(try reply(to: id) == "20000 false")
    #expect(place.origin.requests.first?.body == Array(text.utf8))
  }

  /// The client has sent all of it, or a part, before there is a network.
  @Test(arguments: [0, 1000, 200_000, 3_000_000], [true, false])
  func aStreamIsKeptUntilThereIsANetwork(_ size: Int, _ isChunked: Bool) throws {
    let id = try create("upload", #"{"stream":true}"#)
    let types = try ferry.events("/v1/tasks/\(id)/events?after=0").read(upTo: "task.needNewBodyStream")
    #expect(!types.contains { $0.type == CablePlace.waiting })
    let writer = try BodyWriter(ferry, id, length: isChunked ? nil : size)
    let bytes = Pattern.bytes(size)
    let early = min(size / 2, 100_000)
    try writer.write(Array(bytes[..<early]))
    try place.waitForTheEvent(id)
    #expect(try place.isWaiting(id) && place.origin.requests.isEmpty)
    try place.raise()
    try writer.write(Array(bytes[early...]))
    #expect(try writer.finish().status == 204)
    #expect(try reply(to: id) == "\(size) true")
  }

  /// Who waits holds the client back, as a slow origin does.
  @Test func aWaitingTaskTakesOnlySoMuchOfAStream() throws {
    let size = 64_000_000
    let id = try create("upload", #"{"stream":true}"#)
    _ = try ferry.events("/v1/tasks/\(id)/events?after=0").read(upTo: "task.needNewBodyStream")
    let writer = try BodyWriter(ferry, id, length: size)
    let bytes = Pattern.bytes(size)
    let taken = writer.client.socket.offer(bytes, patience: 500)
    #expect(taken < size / 2)
    #expect(try place.isWaiting(id))
    try place.raise()
    try writer.client.socket.write(Array(bytes[taken...]))
    #expect(try writer.finish().status == 204)
    #expect(try reply(to: id) == "\(size) true")
  }

  /// The client that sends hears of the end.
  @Test func aStreamEndsWithItsTask() throws {
    let id = try create("upload", #"{"stream":true}"#)
    _ = try ferry.events("/v1/tasks/\(id)/events?after=0").read(upTo: "task.needNewBodyStream")
    let writer = try BodyWriter(ferry, id, length: 1000)
    try writer.write(Pattern.bytes(10))
    try place.waitForTheEvent(id)
    _ = try ferry.act("cancel", id)
    #expect(try ferry.end(of: id).errorCode == -999)
    try writer.write(Pattern.bytes(990))
    #expect(try writer.finish().status == 409)
  }
}

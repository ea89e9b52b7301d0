import JSON
import TestSupport
import Testing

/// Uploads that wait for connectivity.
@Suite(.serialized, .blocking) struct ConnectivityBodyTests {
  private let place: UnpluggableNetworkFixture
  private let session: String
  private var ferry: FerryProcess { place.ferry }

  init() throws {
    place = try UnpluggableNetworkFixture()
    session = try place.patientSession()
  }

  private func create(_ kind: String, _ body: String) throws -> String {
    try ferry.create(
      place.url, kind: kind, session: session, request: #","method":"PUT","body":\#(body)"#)
  }

  /// Returns the origin's report on the body, and expects that the origin received one request.
  private func reply(to id: String) throws -> String {
    let body = try place.success(of: id, isPrompt: false)
    #expect(place.origin.requests.count == 1)
    return String(decoding: body, as: UTF8.self)
  }

  @Test(arguments: ["upload", "data", "download"])
  func `body from a file is sent once`(_ kind: String) throws {
    let file = try ferry.store(Pattern.bytes(300_001))
    let id = try create(kind, #"{"file":"\#(file)"}"#)
    try place.waitForConnectivityEvent(id)
    #expect(try ferry.task(id)["progress"]?["countOfBytesSent"]?.integer == 0)
    try place.setLinkUp()
    #expect(try reply(to: id) == "300001 true")
    let progress = try ferry.task(id)["progress"]
    #expect(progress?["countOfBytesSent"]?.integer == 300_001)
    #expect(progress?["countOfBytesExpectedToSend"]?.integer == 300_001)
  }

  @Test func `inline body is sent once`() throws {
    let text = Array(repeating: "0123456789", count: 2000).joined()
    let id = try create("upload", #"{"text":"\#(text)"}"#)
    try place.waitForConnectivityEvent(id)
    try place.setLinkUp()
    #expect(try reply(to: id) == "20000 false")
    #expect(place.origin.requests.first?.body == Array(text.utf8))
  }

  /// The client has sent a part of the body, or all of it, before there is a network.
  @Test(arguments: [0, 1000, 200_000, 3_000_000], [true, false])
  func `stream is kept until there is a network`(_ size: Int, _ isChunked: Bool) throws {
    let id = try create("upload", #"{"stream":true}"#)
    let types = try ferry.events("/v1/tasks/\(id)/events?after=0").read(upTo: "task.needNewBodyStream")
    #expect(!types.contains { $0.type == UnpluggableNetworkFixture.waiting })
    let writer = try BodyWriter(ferry, id, length: isChunked ? nil : size)
    let bytes = Pattern.bytes(size)
    let early = min(size / 2, 100_000)
    try writer.write(Array(bytes[..<early]))
    try place.waitForConnectivityEvent(id)
    #expect(try place.isWaiting(id) && place.origin.requests.isEmpty)
    try place.setLinkUp()
    try writer.write(Array(bytes[early...]))
    #expect(try writer.finish().status == 204)
    #expect(try reply(to: id) == "\(size) true")
  }

  /// A waiting task slows its client like a slow origin.
  @Test func `waiting task buffers a limited part of a stream`() throws {
    let size = 64_000_000
    let id = try create("upload", #"{"stream":true}"#)
    _ = try ferry.events("/v1/tasks/\(id)/events?after=0").read(upTo: "task.needNewBodyStream")
    let writer = try BodyWriter(ferry, id, length: size)
    let bytes = Pattern.bytes(size)
    let taken = writer.client.socket.offer(bytes, patience: 500)
    #expect(taken < size / 2)
    #expect(try place.isWaiting(id))
    try place.setLinkUp()
    try writer.client.socket.write(Array(bytes[taken...]))
    #expect(try writer.finish().status == 204)
    #expect(try reply(to: id) == "\(size) true")
  }

  /// The sending client receives the end of the task as its reply.
  @Test func `cancelled task ends its stream`() throws {
    let id = try create("upload", #"{"stream":true}"#)
    _ = try ferry.events("/v1/tasks/\(id)/events?after=0").read(upTo: "task.needNewBodyStream")
    let writer = try BodyWriter(ferry, id, length: 1000)
    try writer.write(Pattern.bytes(10))
    try place.waitForConnectivityEvent(id)
    _ = try ferry.act("cancel", id)
    #expect(try ferry.end(of: id).errorCode == -999)
    try writer.write(Pattern.bytes(990))
    #expect(try writer.finish().status == 409)
  }
}

import EventLoop
import JSON
import Synchronization
import TestSupport
import Testing

/// urlSession(_:task:didSendBodyData:…): `bytesSent` is the number of bytes since the last call.
@Suite(.serialized, .blocking, .sharing) struct UploadProgressTests {
  private let place: InProcessAPI

  init() throws { place = try .ofSuite() }

  struct Call: Sendable, Equatable {
    let bytes: Int64
    let total: Int64
  }

  /// Returns the upload's progress events. A thread reads the stream all the time, because a slow reader gets the
  /// newest event only.
  private func calls(of id: String, while body: () throws -> Void = {}) throws -> [Call] {
    let calls = Mutex<[Call]>([])
    let (isListening, hasEnded) = (Gate(), Gate())
    POSIXThread.spawn(name: "test-events") { [place] in
      let events = try? place.events("/v1/tasks/\(id)/events")
      isListening.open()
      while let event = try? events?.next(), event.type != "task.didComplete" {
        guard event.type == "task.didSendBodyData", let bytes = event.data["bytesSent"]?.integer,
          let total = event.data["totalBytesSent"]?.integer
        else { continue }
        calls.withLock { $0.append(Call(bytes: bytes, total: total)) }
      }
      hasEnded.open()
    }
    isListening.wait()
    _ = try place.act("resume", id)
    try body()
    hasEnded.wait()
    return calls.withLock { $0 }
  }

  private func sent(_ task: JSONValue) -> Int64 { task["progress"]?["countOfBytesSent"]?.integer ?? 0 }

  private static let size = 24_000_000

  /// Makes an origin that closes after half of the first body. Of the second body, the origin reads a little, and
  /// then the rest.
  private static func origin(breaks: Gate, goesOn: Gate) -> TestOrigin {
    let puts = Mutex(0)
    return TestOrigin(readsBodies: false) { request, socket in
      guard request.method == "PUT" else {
        try socket.write(TestOrigin.reply("200 OK"))
        return true
      }
      let isFirst = puts.withLock { puts in
        puts += 1
        return puts == 1
      }
      var left = size - (isFirst ? size / 2 : 1_000_000)
      _ = try socket.read(exactly: size - left)
      (isFirst ? breaks : goesOn).wait()
      guard !isFirst else {
        socket.shutdownWrites()
        while try socket.readSome() != nil {}
        return false
      }
      while left > 0 { left -= try socket.read(exactly: min(left, 65_536)).count }
      try socket.write(TestOrigin.reply("200 OK"))
      return true
    }
  }

  /// libcurl repeats a request by itself if a reused connection closes without a response.
  @Test(arguments: ["upload", "data"]) func bodySentAgainCountsFromItsBeginning(_ kind: String) throws {
    let (breaks, goesOn) = (Gate(), Gate())
    let origin = Self.origin(breaks: breaks, goesOn: goesOn)
    let session = try place.session()
    #expect(try place.run(origin.url, session: session).status == 200)
    let file = try place.store(Pattern.bytes(Self.size))
    let id = try place.create(
      origin.url, kind: kind, session: session, request: #","method":"PUT","body":{"file":"\#(file)"}"#,
      resume: false)
    let half = Int64(Self.size / 2)
    let calls = try calls(of: id) {
      _ = try place.poll("/v1/tasks/\(id)") { sent($0) >= half }
      breaks.open()
      _ = try place.poll("/v1/tasks/\(id)") { (1_000_000..<half).contains(sent($0)) }
      goesOn.open()
    }
    var (last, restarts) = (Int64(0), 0)
    for call in calls {
      if call.total <= last || call.bytes == call.total, last > 0 { (last, restarts) = (0, restarts + 1) }
      #expect(call.bytes == call.total - last, "\(calls)")
      last = call.total
    }
    #expect(last == Int64(Self.size) && restarts == 1, "\(calls)")
    #expect(origin.requests.map(\.method) == ["GET", "PUT", "PUT"])
  }

  /// libcurl copies a small body, so it does not read the body again.
  @Test func smallBodySentAgainCounts() throws {
    let puts = Mutex(0)
    let origin = TestOrigin { request, socket in
      let isFirst =
        request.method == "PUT"
        && puts.withLock { puts in
          puts += 1
          return puts == 1
        }
      if !isFirst { try socket.write(TestOrigin.reply("200 OK")) }
      return !isFirst
    }
    let session = try place.session()
    #expect(try place.run(origin.url, session: session).status == 200)
    let task = try place.run(
      origin.url, kind: "data", session: session, request: #","method":"PUT","body":{"text":"0123456789"}"#)
    #expect(task.status == 200 && sent(task) == 10)
    #expect(origin.requests.map(\.method) == ["GET", "PUT", "PUT"])
  }

  /// The bytes that the server already has are neither sent nor reported as sent.
  @Test func resumedUploadCountsFromItsOffset() throws {
    let origin = ResumableUploadOrigin()
    origin.set { $0.breaks = [300_000] }
    let first = try origin.upload(by: place)
    _ = try place.end(of: first)
    let data = try #require(
      try place.call("GET", "/v1/tasks/\(first)/resume-data").json["resumeData"]?.string)
    let id = try place.call("POST", "/v1/tasks", #"{"kind":"upload","resume":false,"resumeData":"\#(data)"}"#)
      .json.id
    let calls = try calls(of: id)
    let size = Int64(ResumableUploadOrigin.contents.count)
    #expect(calls.map(\.bytes).reduce(0, +) == size - 300_000 && calls.last?.total == size, "\(calls)")
    origin.expectWhole(try place.task(id))
  }
}

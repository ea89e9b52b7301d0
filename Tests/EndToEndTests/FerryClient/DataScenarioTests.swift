import EventLoop
import FerryClient
import Foundation
import JSON
import Synchronization
import TestSupport
import Testing

/// Data tasks and uploads through FerryClient. docs/swift.md maps the scenarios of TestURLSession to these tests.
@Suite(.serialized, .blocking, .sharing) struct DataScenarioTests {
  private let fixture: FerrySessionFixture
  init() throws { fixture = try FerrySessionFixture() }

  /// Runs a data task to its end.
  private func run(_ recorder: DataRecorder, _ path: String) async -> CallRecorder.Record {
    await run(recorder, FerryRequest(url: fixture.url(path)))
  }
  private func run(_ recorder: DataRecorder, _ request: FerryRequest) async -> CallRecorder.Record {
    fixture.session(recorder).dataTask(with: request).resume()
    await recorder.end()
    return recorder.result
  }

  @Test(arguments: [false, true]) func `data task calls its delegate in URLSession's order`(
    ofRequest: Bool
  ) async {
    let recorder = DataRecorder()
    let session = fixture.session(recorder)
    let url = fixture.url("/")
    let task = ofRequest ? session.dataTask(with: FerryRequest(url: url)) : session.dataTask(with: url)
    #expect(task.state == .suspended && task.taskIdentifier == 1)
    task.resume()
    await recorder.end()
    let result = recorder.result
    #expect(result.calls == ["created", "response", "data", "metrics", "complete"])
    #expect(result.response?.statusCode == 200 && Array(result.data) == ScenarioOrigin.body)
    #expect(result.error == nil && task.state == .completed && task.response === result.response)
    #expect(task.countOfBytesReceived == Int64(ScenarioOrigin.body.count))
    #expect(result.metrics?.transactionMetrics.first?.resourceFetchType == .networkLoad)
  }

  @Test func `completion handler receives the whole body`() async {
    let session = fixture.session()
    let done = Waiter()
    let got = Mutex<(Data?, Int?)>((nil, nil))
    session.dataTask(with: fixture.url("/")) { data, response, _ in
      got.withLock { $0 = (data, (response as? HTTPFerryResponse)?.statusCode) }
      done.resume()
    }.resume()
    await done.wait()
    #expect(got.withLock { $0.0.map { Array($0) } } == ScenarioOrigin.body && got.withLock { $0.1 } == 200)
  }

  @Test func `header field without a blank has its value`() async {
    let result = await run(DataRecorder(), "/tight-field")
    #expect(result.response?.value(forHTTPHeaderField: "x-fruit") == "apple")
    #expect(String(decoding: result.data, as: UTF8.self) == "four")
  }

  @Test func `async data returns body and response`() async throws {
    let (data, response) = try await fixture.session().data(from: fixture.url("/"))
    #expect(Array(data) == ScenarioOrigin.body && (response as? HTTPFerryResponse)?.statusCode == 200)
  }

  @Test func `async data with a delegate of the task calls only its methods of tasks`() async throws {
    let recorder = DataRecorder()
    let (data, _) = try await fixture.session().data(from: fixture.url("/"), delegate: recorder)
    #expect(Array(data) == ScenarioOrigin.body && recorder.calls == ["metrics"])
  }

  @Test func `bytes arrive in order`() async throws {
    let (bytes, response) = try await fixture.session().bytes(from: fixture.url("/"))
    var read: [UInt8] = []
    for try await byte in bytes { read.append(byte) }
    #expect(read == ScenarioOrigin.body && (response as? HTTPFerryResponse)?.statusCode == 200)
  }

  @Test func `lines of a body have no ends`() async throws {
    var request = FerryRequest(url: fixture.url("/echo"))
    request.httpMethod = "PUT"
    for (body, lines) in [("a\r\nb\n\n\rc", ["a", "b", "", "\rc"]), ("ü\n", ["ü"]), ("", [])] {
      request.httpBody = Data(body.utf8)
      let (bytes, _) = try await fixture.session().bytes(for: request)
      var read: [String] = []
      for try await line in bytes.lines { read.append(line) }
      #expect(read == lines)
    }
  }

  @Test func `coded body arrives decoded`() async throws {
    let coded = try #require(Data(base64Encoded: "H4sIAAAAAAACA8tIzcnJV8hAkACAiPnlEQAAAA=="))
    let origin = TestOrigin { _, socket in
      try socket.write(TestOrigin.reply("200 OK", Array(coded), [("Content-Encoding", "gzip")]))
      return true
    }
    let (data, _) = try await fixture.session().data(from: URL(string: origin.url)!)
    #expect(String(decoding: data, as: UTF8.self) == "hello hello hello")
    #expect(origin.requests.first?["Accept-Encoding"]?.contains("br") == true)
  }

  // MARK: Errors

  @Test func `errors have the codes of URLSession`() async throws {
    let dead = "http://127.0.0.1:\(try deadPort())/"
    let cases: [(String, FerryError.Code)] = [
      ("http://127.0.0.1:999999/", .badURL), ("foobar://example.com/", .unsupportedURL),
      (dead, .cannotConnectToHost),
    ]
    for (text, code) in cases {
      guard let url = URL(string: text) else {
        Issue.record("Foundation refuses \(text)")
        continue
      }
      let recorder = DataRecorder()
      let result = await run(recorder, FerryRequest(url: url))
      #expect(result.error?.code == code, "\(text): \(String(describing: result.error))")
      #expect(result.response == nil && result.data.isEmpty)
    }
    var request = FerryRequest(url: fixture.url("/"))
    request.url = nil
    #expect(await run(DataRecorder(), request).error?.code == .unsupportedURL)
  }

  private func deadPort() throws -> Int {
    let origin = TestOrigin { _, _ in false }
    return origin.port
  }

  @Test func `unreachable service is an error of Ferry`() async throws {
    let configuration = FerrySessionConfiguration.default
    configuration.server = FerryServer(url: "http://127.0.0.1:\(try deadPort())")
    do {
      _ = try await FerrySession(configuration: configuration).data(from: fixture.url("/"))
      Issue.record("a dead service has replied")
    } catch FerryError.serviceUnreachable {} catch { Issue.record("\(error)") }
  }

  @Test func `GET with a body is refused`() async {
    var request = FerryRequest(url: fixture.url("/"))
    request.httpBody = Data("body".utf8)
    #expect(await run(DataRecorder(), request).error?.code == .dataLengthExceedsMaximum)
  }

  @Test func `status of 400 or more is no error`() async {
    let result = await run(DataRecorder(), "/status/404")
    #expect(result.calls == ["created", "response", "data", "metrics", "complete"])
    #expect(result.response?.statusCode == 404 && result.error == nil)
  }

  @Test func `failOnStatus makes a status an error`() async throws {
    let recorder = DataRecorder()
    let task = fixture.session(recorder).dataTask(with: fixture.url("/status/503"))
    task.failOnStatus = true
    task.labels = ["customer": "17"]
    task.taskDescription = "nightly"
    task.resume()
    await recorder.end()
    #expect(
      recorder.result.error?.code == .httpStatus && recorder.result.error?.errorDomain == "FerryErrorDomain")
    let stored = try fixture.ferry.task(try #require(task.id))
    #expect(stored["labels"]?["customer"]?.string == "17" && stored["description"]?.string == "nightly")
  }

  @Test func `unusual but valid responses are accepted`() async {
    #expect(await run(DataRecorder(), "/status/999").response?.statusCode == 999)
    let result = await run(DataRecorder(), "/until-close")
    #expect(String(decoding: result.data, as: UTF8.self) == "until close" && result.error == nil)
  }

  @Test func `malformed response is an error without data`() async {
    let result = await run(DataRecorder(), "/malformed")
    #expect(result.error != nil && result.response == nil && result.data.isEmpty)
  }

  @Test func `request's timeout overrides that of the session`() async {
    var request = FerryRequest(url: fixture.url("/silence"))
    request.timeoutInterval = 0.2
    let result = await run(DataRecorder(), request)
    #expect(result.error?.code == .timedOut && result.calls == ["created", "metrics", "complete"])
    request.url = fixture.url("/")
    request.timeoutInterval = 30
    #expect(await run(DataRecorder(), request).error == nil)
  }

  // MARK: Requests

  @Test func `header fields of request and session are sent, and the request's win`() async throws {
    let configuration = fixture.configuration()
    configuration.httpAdditionalHeaders = ["X-Fruit": "pear", "X-Colour": "green"]
    var request = FerryRequest(url: fixture.url("/request"))
    request.setValue("apple", forHTTPHeaderField: "x-fruit")
    let (data, _) = try await fixture.session(nil, configuration).data(for: request)
    let lines = String(decoding: data, as: UTF8.self).split(separator: "\n").map(String.init)
    #expect(lines.contains("x-fruit: apple") && lines.contains("x-colour: green"))
    #expect(!lines.contains("x-fruit: pear"))
  }

  @Test(arguments: ["POST", "PUT", "DELETE"]) func `request without a body has no type`(
    method: String
  ) async throws {
    var request = FerryRequest(url: fixture.url("/request"))
    request.httpMethod = method
    let (data, _) = try await fixture.session().data(for: request)
    let text = String(decoding: data, as: UTF8.self)
    #expect(text.hasPrefix("\(method) /request") && !text.contains("content-type:"))
  }

  @Test func `request with a body sends it`() async throws {
    var request = FerryRequest(url: fixture.url("/request"))
    request.httpMethod = "POST"
    request.httpBody = Data("name=x".utf8)
    let (data, _) = try await fixture.session().data(for: request)
    let text = String(decoding: data, as: UTF8.self)
    #expect(text.hasSuffix("\n\nname=x") && text.contains("content-type: application/x-www-form-urlencoded"))
  }

  @Test func `upload reports its progress`() async throws {
    let recorder = DataRecorder()
    var request = FerryRequest(url: fixture.url("/echo"))
    request.httpMethod = "PUT"
    let body = Data(Pattern.bytes(300_000))
    let task = fixture.session(recorder).uploadTask(with: request, from: body)
    task.resume()
    await recorder.end()
    let result = recorder.result
    #expect(result.error == nil && result.data == body && result.sent == 300_000)
    #expect(task.countOfBytesSent == 300_000 && task.countOfBytesExpectedToSend == 300_000)
  }

  @Test func `upload of a file returns the response`() async throws {
    let file = TemporaryDirectory.make("ferry-upload") + "/body"
    let body = Data(Pattern.bytes(100_000))
    try body.write(to: URL(fileURLWithPath: file))
    var request = FerryRequest(url: fixture.url("/echo"))
    request.httpMethod = "PUT"
    let (data, _) = try await fixture.session().upload(for: request, fromFile: URL(fileURLWithPath: file))
    #expect(data == body)
    try FileManager.default.removeItem(atPath: (file as NSString).deletingLastPathComponent)
    do {
      _ = try await fixture.session().upload(for: request, fromFile: URL(fileURLWithPath: file))
      Issue.record("a missing file was uploaded")
    } catch FerryError.fileDoesNotExist {} catch { Issue.record("\(error)") }
  }

  @Test func `streamed upload asks for its body first`() async throws {
    let recorder = DataRecorder()
    recorder.body = FerryBodyStream(data: Data("streamed".utf8))
    var request = FerryRequest(url: fixture.url("/echo"))
    request.httpMethod = "POST"
    fixture.session(recorder).uploadTask(withStreamedRequest: request).resume()
    await recorder.end()
    let result = recorder.result
    #expect(
      result.calls.filter { $0 != "sent" } == ["created", "body", "response", "data", "metrics", "complete"])
    #expect(String(decoding: result.data, as: UTF8.self) == "streamed")
  }

  @Test(arguments: ["307", "308"], [true, false]) func `body follows a redirect that a delegate answers`(
    status: String, changes: Bool
  ) async throws {
    let recorder = DataRecorder()
    if changes {
      recorder.redirect = { request in
        var request = request
        request.setValue("1", forHTTPHeaderField: "X-Changed")
        return request
      }
    }
    var request = FerryRequest(url: fixture.url("/status/\(status)?location=/echo"))
    request.httpMethod = "PUT"
    let body = Data(Pattern.bytes(100_000))
    let task = fixture.session(recorder).uploadTask(with: request, from: body)
    task.resume()
    await recorder.end()
    #expect(recorder.result.data == body && recorder.result.error == nil)
    #expect(fixture.origin.requests.last?["X-Changed"] == (changes ? "1" : nil))
  }

  @Test func `delayed request keeps its body`() async throws {
    let recorder = DelayingRecorder()
    var request = FerryRequest(url: fixture.url("/echo"))
    request.httpMethod = "PUT"
    let task = fixture.session(recorder).uploadTask(with: request, from: Data("kept".utf8))
    task.earliestBeginDate = Date(timeIntervalSinceNow: 0.1)
    task.resume()
    await recorder.end()
    #expect(String(decoding: recorder.result.data, as: UTF8.self) == "kept")
    #expect(fixture.origin.requests.last?["X-Token"] == "new")
  }

  @Test func `background upload has its response`() async throws {
    let recorder = DataRecorder()
    var request = FerryRequest(url: fixture.url("/status/403"))
    request.httpMethod = "PUT"
    let session = fixture.session(recorder, fixture.configuration(.background(withIdentifier: "upload")))
    let file = TemporaryDirectory.make("ferry-upload") + "/body"
    try Data("body".utf8).write(to: URL(fileURLWithPath: file))
    let task = session.uploadTask(with: request, fromFile: URL(fileURLWithPath: file))
    task.resume()
    await recorder.end()
    #expect((task.response as? HTTPFerryResponse)?.statusCode == 403 && recorder.result.error == nil)
    try FileManager.default.removeItem(atPath: (file as NSString).deletingLastPathComponent)
  }

  @Test func `values that Apple's URLSession accepts are accepted`() async throws {
    var request = FerryRequest(url: fixture.url("/echo"))
    request.httpMethod = "POST"
    request.httpBody = Data("body".utf8)
    request.setValue("4", forHTTPHeaderField: "Content-Length")
    request.setValue("keep-alive", forHTTPHeaderField: "Connection")
    let configuration = fixture.configuration()
    configuration.timeoutIntervalForRequest = .greatestFiniteMagnitude
    configuration.timeoutIntervalForResource = .infinity
    for interval in [0, .infinity, Double(Int32.max)] {
      request.timeoutInterval = interval
      let (data, _) = try await fixture.session(nil, configuration).data(for: request)
      #expect(String(decoding: data, as: UTF8.self) == "body")
    }
  }

  @Test(arguments: [true, false]) func `reader of bytes that is cancelled or dropped cancels the task`(
    isCancelled: Bool
  ) async throws {
    let closed = Waiter()
    let origin = TestOrigin { _, socket in
      try socket.write("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\ndata: 1\n\n")
      while (try? socket.write("data: 2\n\n")) != nil { usleep(20_000) }
      closed.resume()
      return false
    }
    let session = fixture.session()
    let reader = Task.detached {
      let (bytes, _) = try await session.bytes(from: URL(string: origin.url)!)
      for try await line in bytes.lines where line == "data: 2" && !isCancelled { break }
    }
    if isCancelled {
      while origin.requests.isEmpty { await Task.yield() }
      reader.cancel()
    }
    _ = await reader.result
    await closed.wait()
  }

  @Test func `reader of bytes receives the error of a body that breaks off`() async throws {
    let origin = TestOrigin { _, socket in
      try socket.write("HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\nbegin")
      usleep(200_000)
      return false
    }
    let session = fixture.session()
    // Idle connections to the service.
    async let first = session.data(from: fixture.url("/"))
    async let second = session.data(from: fixture.url("/"))
    _ = try await (first, second)
    let (bytes, _) = try await session.bytes(from: URL(string: origin.url)!)
    var count = 0
    let error = await #expect(throws: FerryError.self) { for try await _ in bytes { count += 1 } }
    #expect(error?.code == .networkConnectionLost && count == 5)
  }

  @Test func `upload without a body ends with the reason`() async {
    struct Broken: Error {}
    var request = FerryRequest(url: fixture.url("/echo"))
    request.httpMethod = "POST"
    for body in [nil, FerryBodyStream(length: 4) { throw Broken() }] {
      let recorder = DataRecorder()
      recorder.body = body
      fixture.session(recorder).uploadTask(withStreamedRequest: request).resume()
      await recorder.end()
      #expect(recorder.result.error?.code == .requestBodyStreamExhausted)
    }
  }

  @Test(arguments: ["POST", "PUT", "PATCH"]) func `body stream of a request is sent`(
    method: String
  ) async throws {
    var request = FerryRequest(url: fixture.url("/echo"))
    request.httpMethod = method
    request.httpBodyStream = FerryBodyStream(data: Data("from a stream".utf8))
    let result = await run(DataRecorder(), request)
    #expect(String(decoding: result.data, as: UTF8.self) == "from a stream" && !result.calls.contains("body"))
  }

  // MARK: Many

  @Test func `many requests at once all end`() async throws {
    let session = fixture.session()
    let url = fixture.url("/")
    let sizes = try await withThrowingTaskGroup(of: Int.self) { group in
      for _ in 0..<200 { group.addTask { try await session.data(from: url).0.count } }
      return try await group.reduce(into: []) { $0.append($1) }
    }
    #expect(sizes == Array(repeating: ScenarioOrigin.body.count, count: 200))
  }

  @Test func `sessions work at the same time`() async throws {
    let fixture = fixture
    let sizes = try await withThrowingTaskGroup(of: Int.self) { group in
      for _ in 0..<10 {
        group.addTask { try await fixture.session().data(from: fixture.url("/")).0.count }
      }
      return try await group.reduce(into: []) { $0.append($1) }
    }
    #expect(sizes == Array(repeating: ScenarioOrigin.body.count, count: 10))
  }
}

/// A delegate that changes a header field of a delayed request.
private final class DelayingRecorder: CallRecorder, FerrySessionDataDelegate, @unchecked Sendable {
  func urlSession(
    _ session: FerrySession, task: FerrySessionTask, willBeginDelayedRequest request: FerryRequest,
    completionHandler: @escaping @Sendable (FerrySession.DelayedRequestDisposition, FerryRequest?) -> Void
  ) {
    var request = request
    request.setValue("new", forHTTPHeaderField: "X-Token")
    completionHandler(.useNewRequest, request)
  }
  func urlSession(_ session: FerrySession, dataTask: FerrySessionDataTask, didReceive data: Data) {
    note("data") { $0.data += data }
  }
  func urlSession(
    _ session: FerrySession, task: FerrySessionTask, didCompleteWithError error: (any Error)?
  ) {
    note("complete") { $0.error = error as? FerryError }
    noteEnd()
  }
}

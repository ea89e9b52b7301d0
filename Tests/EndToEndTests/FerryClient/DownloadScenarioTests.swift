import EventLoop
import FerryClient
import Foundation
import JSON
import Synchronization
import TestSupport
import Testing

/// Downloads, redirects and resume data through FerryClient.
@Suite(.serialized, .blocking, .sharing) struct DownloadScenarioTests {
  private let fixture: FerrySessionFixture
  init() throws { fixture = try FerrySessionFixture() }

  // MARK: Downloads

  @Test(arguments: [false, true]) func `download passes a temporary file`(ofRequest: Bool) async {
    let recorder = FullRecorder()
    let session = fixture.session(recorder)
    let url = fixture.url("/")
    let task =
      ofRequest ? session.downloadTask(with: FerryRequest(url: url)) : session.downloadTask(with: url)
    task.resume()
    await recorder.end()
    let result = recorder.result
    #expect(result.calls.filter { $0 != "wrote" } == ["created", "finished", "metrics", "complete"])
    #expect(result.file.map { Array($0) } == ScenarioOrigin.body && result.error == nil)
    #expect((task.response as? HTTPFerryResponse)?.statusCode == 200)
  }

  @Test func `download from an IPv6 address is no malformed URL`() async {
    let recorder = FullRecorder()
    fixture.session(recorder).downloadTask(with: URL(string: "http://[::1]:9/")!).resume()
    await recorder.end()
    // The service of the tests does not permit this address.
    #expect(recorder.result.error?.code == .destinationNotPermitted)
  }

  @Test(arguments: [false, true]) func `completion handler receives the file`(ofRequest: Bool) async {
    let done = Waiter()
    let got = Mutex<(Data?, URL?)>((nil, nil))
    let handler: @Sendable (URL?, FerryResponse?, (any Error)?) -> Void = { file, _, _ in
      got.withLock { $0 = (file.flatMap { try? Data(contentsOf: $0) }, file) }
      done.resume()
    }
    let (session, url) = (fixture.session(), fixture.url("/"))
    let task =
      ofRequest
      ? session.downloadTask(with: FerryRequest(url: url), completionHandler: handler)
      : session.downloadTask(with: url, completionHandler: handler)
    task.resume()
    await done.wait()
    await session.delegateQueue.drained()
    let (data, file) = got.withLock { $0 }
    #expect(data.map { Array($0) } == ScenarioOrigin.body)
    #expect(file.map { FileManager.default.fileExists(atPath: $0.path) } == false)
  }

  @Test func `async download leaves its file to the program`() async throws {
    let recorder = FullRecorder()
    let (file, response) = try await fixture.session().download(from: fixture.url("/"), delegate: recorder)
    #expect(Array(try Data(contentsOf: file)) == ScenarioOrigin.body)
    #expect((response as? HTTPFerryResponse)?.statusCode == 200 && !recorder.calls.contains("finished"))
    try FileManager.default.removeItem(at: file)
  }

  @Test func `download of a coded body has the decoded size`() async throws {
    let coded = try #require(Data(base64Encoded: "H4sIAAAAAAACA8tIzcnJV8hAkACAiPnlEQAAAA=="))
    let origin = TestOrigin { _, socket in
      try socket.write(TestOrigin.reply("200 OK", Array(coded), [("Content-Encoding", "gzip")]))
      return true
    }
    let (file, _) = try await fixture.session().download(from: URL(string: origin.url)!)
    #expect(String(decoding: try Data(contentsOf: file), as: UTF8.self) == "hello hello hello")
    try FileManager.default.removeItem(at: file)
  }

  @Test(arguments: [true, false]) func `background download continues from its resume data`(
    ofError: Bool
  ) async throws {
    let origin = ResumableOrigin()
    origin.change { $0.stop = 300_000 }
    let recorder = FullRecorder()
    let session = fixture.session(
      recorder, fixture.configuration(.background(withIdentifier: "resume-\(ofError)")))
    let task = session.downloadTask(with: URL(string: origin.url)!)
    task.resume()
    _ = try await task.identifierInService()
    let id = try #require(task.id)
    _ = try fixture.ferry.poll("/v1/tasks/\(id)") {
      $0["progress"]?["countOfBytesReceived"]?.integer ?? 0 >= 300_000
    }
    let direct = try #require(await task.cancelByProducingResumeData())
    await recorder.end()
    #expect(recorder.result.error?.code == .cancelled)
    let data = ofError ? try #require(recorder.result.error?.downloadTaskResumeData) : direct
    origin.change { $0.stop = nil }
    session.downloadTask(withResumeData: data).resume()
    await recorder.end(2)
    #expect(recorder.calls.contains("resumed") && recorder.result.error == nil)
    #expect(recorder.result.file.map { Array($0) } == ResumableOrigin.body)
    #expect(origin.requests.last?["Range"] != nil)
    // The client deletes tasks without resume data only.
    #expect(try fixture.ferry.call("DELETE", "/v1/tasks/\(id)").status == 204)
  }

  @Test func `cancelled download continues from its resume data`() async throws {
    let origin = ResumableOrigin()
    origin.change { $0.stop = 300_000 }
    let recorder = FullRecorder()
    let session = fixture.session(recorder)
    let task = session.downloadTask(with: URL(string: origin.url)!)
    task.resume()
    _ = try await task.received(300_000)
    let data = try #require(await task.cancelByProducingResumeData())
    await recorder.end()
    #expect(recorder.result.error?.code == .cancelled)
    origin.change { $0.stop = nil }
    session.downloadTask(withResumeData: data).resume()
    await recorder.end(2)
    #expect(recorder.calls.contains("resumed") && recorder.result.error == nil)
    #expect(recorder.result.file.map { Array($0) } == ResumableOrigin.body)
  }

  @Test func `failed download has resume data in its error`() async throws {
    let origin = ResumableOrigin()
    origin.change { ($0.stop, $0.cuts) = (300_000, true) }
    do {
      _ = try await fixture.session().download(from: URL(string: origin.url)!)
      Issue.record("a truncated body was accepted")
    } catch let error as FerryError {
      #expect(error.code == .networkConnectionLost)
      let data = try #require(error.downloadTaskResumeData)
      origin.change { ($0.stop, $0.cuts) = (nil, false) }
      let (file, _) = try await fixture.session().download(resumeFrom: data)
      #expect(Array(try Data(contentsOf: file)) == ResumableOrigin.body)
      try FileManager.default.removeItem(at: file)
    }
  }

  @Test func `invalid resume data is an error`() async {
    let recorder = FullRecorder()
    fixture.session(recorder).downloadTask(withResumeData: Data("no resume data".utf8)).resume()
    await recorder.end()
    #expect(recorder.result.error?.code == .unsupportedURL && recorder.calls == ["created", "complete"])
  }

  @Test func `data task becomes a download`() async {
    let recorder = FullRecorder()
    recorder.disposition = .becomeDownload
    fixture.session(recorder).dataTask(with: fixture.url("/")).resume()
    await recorder.end()
    let result = recorder.result
    #expect(
      result.calls.filter { $0 != "wrote" } == [
        "created", "response", "download", "finished", "metrics", "complete",
      ])
    #expect(result.file.map { Array($0) } == ScenarioOrigin.body && result.download?.state == .completed)
  }

  // MARK: Redirects

  /// The method that follows a redirect; `nil` if it is not followed.
  struct RedirectRule: Sendable, CustomTestStringConvertible {
    let status: Int
    let method: String
    let next: String?
    var testDescription: String { "\(status) \(method)" }
  }
  static let redirectRules: [RedirectRule] = [300, 301, 302, 303, 304, 305, 307, 308].flatMap { status in
    ["GET", "POST", "PUT", "DELETE", "HEAD"].map { method in
      let next: String? =
        switch status {
        case 300, 304: nil
        case 301, 302: method == "POST" ? "GET" : method
        case 303: "GET"
        default: method
        }
      return RedirectRule(status: status, method: method, next: next)
    }
  }

  @Test(arguments: redirectRules) func `redirect is followed with the right method`(_ rule: RedirectRule)
    async
  {
    let recorder = DataRecorder()
    var request = FerryRequest(url: fixture.url("/status/\(rule.status)?location=/request"))
    request.httpMethod = rule.method
    fixture.session(recorder).dataTask(with: request).resume()
    await recorder.end()
    let result = recorder.result
    #expect(result.error == nil && result.calls.contains("redirect \(rule.status)") == (rule.next != nil))
    #expect(result.response?.statusCode == (rule.next == nil ? rule.status : 200))
    #expect(fixture.origin.requests.count == (rule.next == nil ? 1 : 2))
    if let next = rule.next { #expect(fixture.origin.requests.last?.method == next) }
  }

  @Test func `body of a POST is dropped by 303`() async throws {
    var request = FerryRequest(url: fixture.url("/status/303?location=/request"))
    request.httpMethod = "POST"
    request.httpBody = Data("dropped".utf8)
    let (data, _) = try await fixture.session().data(for: request)
    let text = String(decoding: data, as: UTF8.self)
    #expect(text.hasPrefix("GET /request") && !text.contains("dropped"))
  }

  @Test func `redirect that the delegate refuses is the response`() async {
    let recorder = DataRecorder()
    recorder.redirect = { _ in nil }
    fixture.session(recorder).dataTask(with: fixture.url("/status/302?location=/request")).resume()
    await recorder.end()
    let result = recorder.result
    #expect(result.calls == ["created", "redirect 302", "response", "data", "metrics", "complete"])
    #expect(result.response?.statusCode == 302 && Array(result.data) == ScenarioOrigin.body)
  }

  @Test func `redirect to another request sends that one`() async throws {
    let recorder = DataRecorder()
    let other = fixture.url("/other")
    recorder.redirect = { _ in FerryRequest(url: other) }
    let task = fixture.session(recorder).dataTask(with: fixture.url("/status/302?location=/request"))
    task.resume()
    await recorder.end()
    #expect(fixture.origin.requests.map(\.path).last == "/other" && task.currentRequest?.url == other)
  }

  @Test func `redirect of a task with a handler calls only that method`() async {
    let recorder = DataRecorder()
    let done = Waiter()
    fixture.session(recorder).dataTask(with: fixture.url("/status/302?location=/")) { _, _, _ in
      done.resume()
    }.resume()
    await done.wait()
    #expect(recorder.calls == ["created", "redirect 302", "metrics"])
  }

  @Test(arguments: [
    ("/request", "/request"), ("request", "/status/request"), ("/request?a=b%26c", "/request?a=b%26c"),
  ]) func `relative location is resolved`(location: String, path: String) async throws {
    let escaped = try #require(location.addingPercentEncoding(withAllowedCharacters: .alphanumerics))
    _ = try await fixture.session().data(from: fixture.url("/status/302?location=\(escaped)"))
    #expect(fixture.origin.requests.last?.path == path)
  }

  @Test func `redirect to a dead port is an error`() async {
    let dead = TestOrigin { _, _ in false }.port
    let recorder = DataRecorder()
    let path = "/status/302?location=http://127.0.0.1:\(dead)/"
    fixture.session(recorder).dataTask(with: fixture.url(path)).resume()
    await recorder.end()
    #expect(recorder.result.error?.code == .cannotConnectToHost)
  }

  @Test func `too many redirects are an error`() async throws {
    _ = try await fixture.session().data(from: fixture.url("/loop/15"))
    let recorder = DataRecorder()
    fixture.session(recorder).dataTask(with: fixture.url("/loop/40")).resume()
    await recorder.end()
    #expect(recorder.result.error?.code == .httpTooManyRedirects && recorder.result.error?.failingURL != nil)
  }

  @Test func `timeout of the request applies after a redirect`() async {
    let recorder = DataRecorder()
    var request = FerryRequest(url: fixture.url("/status/302?location=/silence"))
    request.timeoutInterval = 0.2
    fixture.session(recorder).dataTask(with: request).resume()
    await recorder.end()
    #expect(recorder.result.error?.code == .timedOut && recorder.calls.contains("redirect 302"))
  }

  @Test func `redirect without an answer waits`() async {
    let recorder = SilentRecorder()
    let task = fixture.session(recorder).dataTask(with: fixture.url("/status/302?location=/request"))
    task.resume()
    await recorder.asked.wait()
    #expect(task.state == .running && fixture.origin.requests.count == 1)
    task.cancel()
    await recorder.end()
    #expect(recorder.result.error?.code == .cancelled && fixture.origin.requests.count == 1)
  }
}

/// A delegate that does not answer redirects.
private final class SilentRecorder: CallRecorder, FerrySessionTaskDelegate, @unchecked Sendable {
  let asked = Waiter()
  func urlSession(
    _ session: FerrySession, task: FerrySessionTask,
    willPerformHTTPRedirection response: HTTPFerryResponse, newRequest request: FerryRequest,
    completionHandler: @escaping @Sendable (FerryRequest?) -> Void
  ) { asked.resume() }
  func urlSession(
    _ session: FerrySession, task: FerrySessionTask, didCompleteWithError error: (any Error)?
  ) {
    note("complete") { $0.error = error as? FerryError }
    noteEnd()
  }
}

extension FerrySessionTask {
  /// Returns when the task has received this number of bytes. Progress arrives four times a second.
  func received(_ count: Int64) async throws -> Int64 {
    while countOfBytesReceived < count { try await Task.sleep(for: .milliseconds(10)) }
    return countOfBytesReceived
  }
}

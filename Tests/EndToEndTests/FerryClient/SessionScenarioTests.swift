import EventLoop
import FerryClient
import Foundation
import JSON
import Synchronization
import TestSupport
import Testing

/// States of tasks and sessions, cookies and logins through FerryClient.
@Suite(.serialized, .blocking, .sharing) struct SessionScenarioTests {
  private let fixture: FerrySessionFixture
  init() throws { fixture = try FerrySessionFixture() }

  // MARK: States

  @Test func `cancelled task ends with the error cancelled`() async {
    let recorder = DataRecorder()
    let task = fixture.session(recorder).dataTask(with: fixture.url("/silence"))
    task.resume()
    await fixture.waitForRequest()
    task.cancel()
    #expect(task.state == .canceling || task.state == .completed)
    await recorder.end()
    #expect(recorder.result.error?.code == .cancelled && recorder.result.error?.errorCode == -999)
    // A task that was cancelled does not begin again.
    task.resume()
    #expect(task.state == .completed && recorder.calls.filter { $0 == "complete" }.count == 1)
  }

  @Test func `task that was never resumed can be cancelled`() async {
    let recorder = DataRecorder()
    let task = fixture.session(recorder).dataTask(with: fixture.url("/"))
    task.cancel()
    await recorder.end()
    #expect(recorder.calls == ["created", "complete"] && recorder.result.error?.code == .cancelled)
    #expect(fixture.origin.requests.isEmpty && task.id == nil)
  }

  @Test func `cancelling and failing calls the handler once`() async {
    let count = Mutex(0)
    let done = Waiter()
    let session = fixture.session()
    var request = FerryRequest(url: fixture.url("/"))
    request.url = URL(string: "unknown://x")
    let task = session.dataTask(with: request) { _, _, _ in
      count.withLock { $0 += 1 }
      done.resume()
    }
    task.resume()
    task.cancel()
    await done.wait()
    await session.delegateQueue.drained()
    #expect(count.withLock { $0 } == 1)
  }

  @Test func `suspend and resume nest`() async {
    let recorder = DataRecorder()
    let task = fixture.session(recorder).dataTask(with: fixture.url("/"))
    task.suspend()
    task.resume()
    #expect(task.state == .suspended && fixture.origin.requests.isEmpty)
    task.resume()
    #expect(task.state == .running)
    await recorder.end()
    #expect(recorder.result.error == nil)
  }

  @Test func `suspended task continues without a second request`() async throws {
    let origin = ResumableOrigin()
    origin.change { $0.stop = 300_000 }
    let recorder = FullRecorder()
    let task = fixture.session(recorder).downloadTask(with: URL(string: origin.url)!)
    task.resume()
    _ = try await task.received(300_000)
    task.suspend()
    task.suspend()
    task.resume()
    #expect(task.state == .suspended)
    task.resume()
    #expect(task.state == .running && origin.requests.count == 1)
    task.cancel()
    await recorder.end()
  }

  @Test func `lists have the tasks that have not ended`() async throws {
    let session = fixture.session()
    var request = FerryRequest(url: fixture.url("/silence"))
    let data = session.dataTask(with: request)
    request.httpMethod = "PUT"
    let upload = session.uploadTask(with: request, from: Data("x".utf8))
    let download = session.downloadTask(with: fixture.url("/silence"))
    #expect(await session.allTasks == [data, upload, download])
    let kinds = await session.tasks
    #expect(kinds.0 == [data] && kinds.1 == [upload] && kinds.2 == [download])
    let listed = Mutex<[FerrySessionTask]>([])
    let done = Waiter()
    session.getAllTasks { tasks in
      listed.withLock { $0 = tasks }
      done.resume()
    }
    await done.wait()
    #expect(listed.withLock { $0 } == [data, upload, download])
    session.invalidateAndCancel()
  }

  // MARK: Invalidation

  @Test func `invalidation waits for running tasks`() async {
    let recorder = DataRecorder()
    let session = fixture.session(recorder)
    session.dataTask(with: fixture.url("/")).resume()
    session.finishTasksAndInvalidate()
    await recorder.end(2)
    #expect(recorder.calls.suffix(2) == ["complete", "invalid"] && recorder.result.error == nil)
    await session.delegateQueue.drained()
    #expect(session.delegate == nil)
  }

  @Test func `invalidateAndCancel cancels tasks and releases the delegate`() async {
    let session: FerrySession
    weak var released: DataRecorder?
    do {
      let recorder = DataRecorder()
      released = recorder
      session = fixture.session(recorder)
      session.dataTask(with: fixture.url("/silence")).resume()
      await fixture.waitForRequest()
      session.invalidateAndCancel()
      await recorder.end(2)
      #expect(recorder.result.error?.code == .cancelled && recorder.calls.last == "invalid")
    }
    // The queue releases the delegate after its last call.
    await session.delegateQueue.drained()
    #expect(await session.allTasks.isEmpty && session.delegate == nil && released == nil)
    // A task of an invalid session ends at once.
    let done = Waiter()
    let failure = Mutex<FerryError?>(nil)
    session.dataTask(with: fixture.url("/")) { _, _, error in
      failure.withLock { $0 = error as? FerryError }
      done.resume()
    }.resume()
    await done.wait()
    #expect(failure.withLock { $0?.code } == .cancelled)
  }

  @Test func `session without tasks becomes invalid`() async {
    let recorder = DataRecorder()
    fixture.session(recorder).finishTasksAndInvalidate()
    await recorder.end()
    #expect(recorder.calls == ["invalid"])
  }

  @Test func `identifier of a session with another configuration is an error`() async throws {
    let other = try fixture.ferry.background(
      "taken", #","delegate":{},"configuration":{"httpMaximumConnectionsPerHost":2}"#)
    #expect(other.status == 201)
    let recorder = DataRecorder()
    _ = fixture.session(recorder, fixture.configuration(.background(withIdentifier: "taken")))
    await recorder.end()
    #expect(recorder.calls == ["invalid"] && recorder.result.error?.code == .serviceRefused)
  }

  @Test func `list of a background session has the tasks of an earlier run`() async throws {
    let configuration = fixture.configuration(.background(withIdentifier: "earlier"))
    await fixture.session(FullRecorder(), configuration).flush()
    let listed = try fixture.ferry.call("GET", "/v1/sessions?limit=500").json["items"]?.elements ?? []
    let session = try #require(listed.first { $0["identifier"]?.string == "earlier" }?.id)
    let task = try fixture.ferry.call(
      "POST", "/v1/sessions/\(session)/tasks",
      #"{"kind":"data","description":"mine","priority":0.75,"request":{"url":"http://127.0.0.1:9/"}}"#
    ).json.id
    let later = fixture.session(FullRecorder(), configuration)
    let tasks = await later.allTasks
    #expect(tasks.map(\.id) == [task])
    #expect(tasks.first?.taskDescription == "mine" && tasks.first?.priority == 0.75)
  }

  @Test func `reset and flush of a session without tasks create no session in the service`() async throws {
    func count() throws -> Int? {
      try fixture.ferry.call("GET", "/v1/sessions?limit=500").json["items"]?.elements?.count
    }
    let before = try count()
    let session = fixture.session()
    await session.reset()
    await session.flush()
    session.invalidateAndCancel()
    await session.delegateQueue.drained()
    await session.reset()
    #expect(try count() == before)
  }

  @Test func `reset calls its handler and deletes the cookies`() async throws {
    let session = fixture.session()
    #expect(try await cookies(session, after: "/cookie") == "fruit=apple")
    let done = Waiter()
    session.reset { done.resume() }
    await done.wait()
    #expect(try await cookies(session, after: "/request") == nil)
  }

  // MARK: Delegates

  @Test func `task's delegate precedes the session's, which receives the other calls`() async {
    let (recorder, own) = (FullRecorder(), TaskOnlyRecorder())
    let session = fixture.session(recorder)
    let task = session.dataTask(with: fixture.url("/"))
    task.delegate = own
    task.resume()
    await own.end()
    #expect(own.calls == ["complete"] && recorder.calls == ["created", "response", "data", "metrics"])
    await session.delegateQueue.drained()
    #expect(task.delegate == nil)
  }

  @Test func `calls run on the given queue`() async throws {
    let recorder = MainRecorder()
    let session = fixture.session(recorder, queue: .main)
    session.dataTask(with: fixture.url("/")).resume()
    await recorder.end()
    #expect(recorder.calls == ["main"])
  }

  @Test func `configuration keeps its properties`() {
    let configuration = FerrySessionConfiguration.default
    configuration.requestCachePolicy = .reloadIgnoringLocalCacheData
    configuration.timeoutIntervalForRequest = 1
    configuration.httpMaximumConnectionsPerHost = 2
    configuration.httpCookieAcceptPolicy = .never
    configuration.httpAdditionalHeaders = ["A": "b"]
    configuration.tlsMinimumSupportedProtocolVersion = .TLSv13
    let copy = FerrySession(configuration: configuration).configuration
    configuration.timeoutIntervalForRequest = 9
    #expect(copy.requestCachePolicy == .reloadIgnoringLocalCacheData && copy.timeoutIntervalForRequest == 1)
    #expect(copy.httpMaximumConnectionsPerHost == 2 && copy.httpCookieAcceptPolicy == .never)
    #expect(copy.httpAdditionalHeaders == ["A": "b"] && copy.tlsMinimumSupportedProtocolVersion == .TLSv13)
  }

  // MARK: Cookies

  private func cookies(_ session: FerrySession, after path: String) async throws -> String? {
    _ = try await session.data(from: fixture.url(path))
    _ = try await session.data(from: fixture.url("/request"))
    return fixture.origin.requests.last?["Cookie"]
  }

  @Test func `cookie of a response is sent with later requests`() async throws {
    #expect(try await cookies(fixture.session(), after: "/cookie") == "fruit=apple")
  }

  @Test func `storage lists, sets and deletes the cookies of its session`() async throws {
    let session = fixture.session()
    let storage = session.httpCookieStorage
    #expect(try await storage.cookies.isEmpty)
    let later = Date(timeIntervalSince1970: (Date().timeIntervalSince1970 + 1000).rounded())
    let set = FerryHTTPCookie(
      name: "a", value: "1", domain: "127.0.0.1", path: "/request", expiresDate: later, isHTTPOnly: true,
      sameSitePolicy: .lax)
    try await storage.setCookie(set)
    #expect(try await cookies(session, after: "/cookie") == "a=1; fruit=apple")
    #expect(try await storage.cookies.map(\.name) == ["a", "fruit"])
    #expect(try await storage.cookies.first == set)
    #expect(try await storage.cookies(for: fixture.url("/other")).map(\.name) == ["fruit"])
    try await storage.deleteCookie(set)
    #expect(try await cookies(session, after: "/request") == "fruit=apple")
    try await storage.removeCookies()
    #expect(try await cookies(session, after: "/request") == nil)
    let error = await #expect(throws: FerryError.self) {
      try await storage.setCookie(FerryHTTPCookie(name: "b", value: "2", domain: ".com"))
    }
    #expect(error?.code == .serviceRefused && error?.message.contains("domain") == true, "\(error as Any)")
  }

  @Test func `cookie of a redirect is sent with the next request`() async throws {
    let (data, _) = try await fixture.session().data(from: fixture.url("/cookie-redirect"))
    #expect(String(decoding: data, as: UTF8.self).contains("cookie: fruit=pear"))
  }

  @Test func `cookies follow the configuration`() async throws {
    let never = fixture.configuration()
    never.httpCookieAcceptPolicy = .never
    #expect(try await cookies(fixture.session(nil, never), after: "/cookie") == nil)
    let unset = fixture.configuration()
    unset.httpShouldSetCookies = false
    #expect(try await cookies(fixture.session(nil, unset), after: "/cookie") == nil)
    let none = fixture.configuration()
    (none.httpCookieStorage, none.urlCredentialStorage) = (nil, nil)
    #expect(try await cookies(fixture.session(nil, none), after: "/cookie") == nil)
    var request = FerryRequest(url: fixture.url("/cookie"))
    request.httpShouldHandleCookies = false
    let session = fixture.session()
    _ = try await session.data(for: request)
    #expect(try await cookies(session, after: "/request") == nil)
  }

  @Test func `ephemeral sessions do not share cookies`() async throws {
    let first = fixture.session(nil, fixture.configuration(.ephemeral))
    #expect(try await cookies(first, after: "/cookie") == "fruit=apple")
    let second = fixture.session(nil, fixture.configuration(.ephemeral))
    #expect(try await cookies(second, after: "/request") == nil)
    await first.reset()
    #expect(try await cookies(first, after: "/request") == nil)
  }

  // MARK: Logins

  @Test func `delegate answers a Basic challenge`() async {
    let recorder = DataRecorder()
    recorder.login = FerryCredential(user: "user", password: "passwd", persistence: .forSession)
    fixture.session(recorder).dataTask(with: fixture.url("/login")).resume()
    await recorder.end()
    let result = recorder.result
    #expect(result.calls == ["created", "challenge", "response", "data", "metrics", "complete"])
    #expect(result.challenges == [NSURLAuthenticationMethodHTTPBasic])
    #expect(result.response?.statusCode == 200 && Array(result.data) == ScenarioOrigin.body)
  }

  @Test(arguments: ["/login", "/unauthorized"]) func `401 without a credential is the response`(
    path: String
  ) async throws {
    let (data, response) = try await fixture.session().data(from: fixture.url(path))
    #expect(
      (response as? HTTPFerryResponse)?.statusCode == 401 && String(decoding: data, as: UTF8.self) == "no")
  }

  // MARK: Cache

  @Test func `delegate allows the storage of a response`() async throws {
    let configuration = fixture.configuration()
    configuration.urlCache = FerryCache(memoryCapacity: 1 << 20, diskCapacity: 1 << 20)
    let recorder = DataRecorder()
    let session = fixture.session(recorder, configuration)
    for count in 1...2 {
      session.dataTask(with: fixture.url("/")).resume()
      await recorder.end(count)
    }
    #expect(recorder.calls.filter { $0 == "cache" }.count == 1 && fixture.origin.requests.count == 1)
    #expect(recorder.result.response?.isFromCache == true)
  }
}

/// A task's delegate with one method.
final class TaskOnlyRecorder: CallRecorder, FerrySessionTaskDelegate, @unchecked Sendable {
  override var decisions: FerryDecisions { [] }
  func urlSession(
    _ session: FerrySession, task: FerrySessionTask, didCompleteWithError error: (any Error)?
  ) {
    note("complete")
    noteEnd()
  }
}

private final class MainRecorder: CallRecorder, FerrySessionTaskDelegate, @unchecked Sendable {
  func urlSession(
    _ session: FerrySession, task: FerrySessionTask, didCompleteWithError error: (any Error)?
  ) {
    MainActor.assumeIsolated { note("main") }
    noteEnd()
  }
}

extension FerrySessionFixture {
  /// Waits until the origin has received a request.
  func waitForRequest() async {
    while origin.requests.isEmpty { try? await Task.sleep(for: .milliseconds(10)) }
  }
}

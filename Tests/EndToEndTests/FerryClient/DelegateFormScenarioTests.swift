import FerryClient
import Foundation
import TestSupport
import Testing

/// Delegates with async methods, and with handlers that are not marked as Sendable.
@Suite(.serialized, .blocking, .sharing) struct DelegateFormScenarioTests {
  private let fixture: FerrySessionFixture
  init() throws { fixture = try FerrySessionFixture() }

  private func run(_ recorder: CallRecorder, _ path: String) async -> CallRecorder.Record {
    let configuration = fixture.configuration()
    configuration.urlCache = FerryCache(memoryCapacity: 1 << 20, diskCapacity: 0)
    fixture.session(recorder, configuration).dataTask(with: fixture.url(path)).resume()
    await recorder.end()
    return recorder.result
  }

  @Test func `async methods answer a redirect, a response and the cache`() async {
    let result = await run(AsyncRecorder(), "/status/302?location=/")
    #expect(result.calls == ["redirect 302", "response", "cache", "complete"] && result.error == nil)
  }

  @Test func `async method answers a challenge`() async {
    let result = await run(AsyncRecorder(), "/login")
    #expect(result.calls == ["challenge", "response", "complete"] && result.response?.statusCode == 200)
  }

  @Test func `async method supplies the body`() async {
    let recorder = AsyncRecorder()
    var request = FerryRequest(url: fixture.url("/echo"))
    request.httpMethod = "POST"
    let task = fixture.session(recorder).uploadTask(withStreamedRequest: request)
    task.earliestBeginDate = Date(timeIntervalSinceNow: 0.1)
    task.resume()
    await recorder.end()
    #expect(recorder.calls == ["delayed", "body", "response", "complete"] && recorder.result.sent == 0)
    #expect(task.countOfBytesReceived == 4)
  }

  @Test func `task's own delegate leaves decisions to async methods of the session's`() async {
    let (recorder, own) = (AsyncRecorder(), TaskOnlyRecorder())
    let task = fixture.session(recorder).dataTask(with: fixture.url("/login"))
    task.delegate = own
    task.resume()
    await own.end()
    #expect(own.calls == ["complete"] && recorder.calls == ["challenge", "response"])
  }

  @Test func `handlers need not be marked as Sendable`() async {
    let result = await run(PlainRecorder(), "/status/302?location=/login")
    #expect(result.calls == ["redirect 302", "challenge", "response", "complete"] && result.error == nil)
  }
}

private final class AsyncRecorder: CallRecorder, FerrySessionDataDelegate, @unchecked Sendable {
  func urlSession(
    _ session: FerrySession, task: FerrySessionTask, willBeginDelayedRequest request: FerryRequest
  ) async -> (FerrySession.DelayedRequestDisposition, FerryRequest?) {
    note("delayed")
    return (.continueLoading, nil)
  }
  func urlSession(
    _ session: FerrySession, task: FerrySessionTask,
    willPerformHTTPRedirection response: HTTPFerryResponse, newRequest request: FerryRequest
  ) async -> FerryRequest? {
    note("redirect \(response.statusCode)")
    return request
  }
  func urlSession(
    _ session: FerrySession, task: FerrySessionTask, didReceive challenge: FerryAuthenticationChallenge
  ) async -> (FerrySession.AuthChallengeDisposition, FerryCredential?) {
    note("challenge")
    return (.useCredential, FerryCredential(user: "user", password: "passwd", persistence: .none))
  }
  func urlSession(
    _ session: FerrySession, needNewBodyStreamForTask task: FerrySessionTask
  ) async -> FerryBodyStream? {
    note("body")
    return FerryBodyStream(data: Data("body".utf8))
  }
  func urlSession(
    _ session: FerrySession, dataTask: FerrySessionDataTask, didReceive response: FerryResponse
  ) async -> FerrySession.ResponseDisposition {
    note("response") { $0.response = response as? HTTPFerryResponse }
    return .allow
  }
  func urlSession(
    _ session: FerrySession, dataTask: FerrySessionDataTask,
    willCacheResponse proposedResponse: CachedFerryResponse
  ) async -> CachedFerryResponse? {
    note("cache")
    return proposedResponse
  }
  func urlSession(
    _ session: FerrySession, task: FerrySessionTask, didCompleteWithError error: (any Error)?
  ) {
    note("complete") { $0.error = error as? FerryError }
    noteEnd()
  }
}

/// The handlers have the types of a program in Swift 5.
private final class PlainRecorder: CallRecorder, FerrySessionDataDelegate, @unchecked Sendable {
  func urlSession(
    _ session: FerrySession, task: FerrySessionTask,
    willPerformHTTPRedirection response: HTTPFerryResponse, newRequest request: FerryRequest,
    completionHandler: @escaping (FerryRequest?) -> Void
  ) {
    note("redirect \(response.statusCode)")
    completionHandler(request)
  }
  func urlSession(
    _ session: FerrySession, task: FerrySessionTask, didReceive challenge: FerryAuthenticationChallenge,
    completionHandler: @escaping (FerrySession.AuthChallengeDisposition, FerryCredential?) -> Void
  ) {
    note("challenge")
    completionHandler(.useCredential, FerryCredential(user: "user", password: "passwd", persistence: .none))
  }
  func urlSession(
    _ session: FerrySession, dataTask: FerrySessionDataTask, didReceive response: FerryResponse,
    completionHandler: @escaping (FerrySession.ResponseDisposition) -> Void
  ) {
    note("response")
    completionHandler(.allow)
  }
  func urlSession(
    _ session: FerrySession, task: FerrySessionTask, didCompleteWithError error: (any Error)?
  ) {
    note("complete") { $0.error = error as? FerryError }
    noteEnd()
  }
}

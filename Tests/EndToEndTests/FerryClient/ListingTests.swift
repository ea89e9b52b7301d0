import EventLoop
import FerryClient
import Foundation
import JSON
import Synchronization
import TestSupport
import Testing

/// The class of listing 1-1 of Apple's "URL Session Programming Guide", with the methods of listings 1-7 to 1-9.
private final class MySessionDelegate: FerrySessionDataDelegate, FerrySessionDownloadDelegate {
  typealias CompletionHandlerType = @Sendable () -> Void

  struct Properties {
    var backgroundSession: FerrySession?
    var defaultSession: FerrySession?
    var ephemeralSession: FerrySession?
    var completionHandlerDictionary: [String: CompletionHandlerType] = [:]
    var lines: [String] = []
    var moved: URL?
    var error: (any Error)?
  }
  let properties = Mutex(Properties())
  let directory: String
  let ended = Waiter()

  init(directory: String) { self.directory = directory }

  func log(_ line: String) { properties.withLock { $0.lines.append(line) } }

  // Listing 1-7: delegate methods for download tasks.
  func urlSession(
    _ session: FerrySession, downloadTask: FerrySessionDownloadTask, didFinishDownloadingTo location: URL
  ) {
    log("finished downloading")
    let target = URL(fileURLWithPath: directory).appendingPathComponent("\(downloadTask.taskIdentifier)")
    do {
      try FileManager.default.moveItem(at: location, to: target)
      properties.withLock { $0.moved = target }
    } catch { properties.withLock { $0.error = error } }
  }
  func urlSession(
    _ session: FerrySession, downloadTask: FerrySessionDownloadTask, didWriteData bytesWritten: Int64,
    totalBytesWritten: Int64, totalBytesExpectedToWrite: Int64
  ) { log("wrote \(totalBytesWritten) of \(totalBytesExpectedToWrite)") }
  func urlSession(
    _ session: FerrySession, downloadTask: FerrySessionDownloadTask, didResumeAtOffset fileOffset: Int64,
    expectedTotalBytes: Int64
  ) { log("resumed at \(fileOffset) of \(expectedTotalBytes)") }
  func urlSession(_ session: FerrySession, dataTask: FerrySessionDataTask, didReceive data: Data) {
    log("data \(String(decoding: data, as: UTF8.self))")
  }
  func urlSession(
    _ session: FerrySession, task: FerrySessionTask, didCompleteWithError error: (any Error)?
  ) {
    properties.withLock { $0.error = error }
    log("complete")
    if !session.isBackgroundListing { ended.resume() }
  }

  // Listing 1-8: session delegate methods for background downloads.
  func urlSessionDidFinishEvents(forBackgroundURLSession session: FerrySession) {
    log("finished events")
    if let identifier = session.configuration.identifier {
      callCompletionHandler(forSession: identifier)
    }
    ended.resume()
  }
  func addCompletionHandler(_ handler: @escaping CompletionHandlerType, forSession identifier: String) {
    properties.withLock { properties in
      if properties.completionHandlerDictionary[identifier] != nil { properties.lines.append("twice") }
      properties.completionHandlerDictionary[identifier] = handler
    }
  }
  func callCompletionHandler(forSession identifier: String) {
    let handler = properties.withLock { $0.completionHandlerDictionary.removeValue(forKey: identifier) }
    handler?()
  }

  // Listing 1-9: the program was started for a background session. A webhook of `session.handleEvents` calls this method.
  func handleEvents(
    forBackgroundURLSession identifier: String, _ server: FerryServer,
    completionHandler: @escaping CompletionHandlerType
  ) {
    let backgroundConfigObject = FerrySessionConfiguration.background(withIdentifier: identifier)
    backgroundConfigObject.server = server
    addCompletionHandler(completionHandler, forSession: identifier)
    let backgroundSession = FerrySession(
      configuration: backgroundConfigObject, delegate: self, delegateQueue: FerryDelegateQueue())
    properties.withLock { $0.backgroundSession = backgroundSession }
  }
}

extension FerrySession {
  fileprivate var isBackgroundListing: Bool { configuration.identifier != nil }
}

/// The Objective-C listings of Apple's guide, in Swift.
@Suite(.serialized, .blocking, .sharing) struct ListingTests {
  private let fixture: FerrySessionFixture
  private let directory = TemporaryDirectory.make("ferry-listings")
  init() throws { fixture = try FerrySessionFixture() }

  private func delegate() -> MySessionDelegate { MySessionDelegate(directory: directory) }

  @Test func `listing 1-2 creates sessions of three kinds`() async throws {
    let delegate = delegate()
    let backgroundConfigObject = fixture.configuration(
      .background(withIdentifier: "myBackgroundSessionIdentifier"))
    let defaultConfigObject = fixture.configuration(.default)
    let ephemeralConfigObject = fixture.configuration(.ephemeral)

    // Configure caching behavior for the default session.
    defaultConfigObject.urlCache = FerryCache(memoryCapacity: 16_384, diskCapacity: 268_435_456)
    defaultConfigObject.requestCachePolicy = .useProtocolCachePolicy

    // Create a session for each of the configurations.
    let queue = FerryDelegateQueue()
    let sessions = [backgroundConfigObject, defaultConfigObject, ephemeralConfigObject].map {
      FerrySession(configuration: $0, delegate: delegate, delegateQueue: queue)
    }
    delegate.properties.withLock { properties in
      properties.backgroundSession = sessions[0]
      properties.defaultSession = sessions[1]
      properties.ephemeralSession = sessions[2]
    }
    // The service knows a background session at once, and another session from its first task.
    await sessions[0].flush()
    for session in sessions[1...] { _ = try await session.data(from: fixture.url("/")) }
    let listed = try fixture.ferry.call("GET", "/v1/sessions?limit=500").json["items"]?.elements ?? []
    let background = listed.first { $0["identifier"]?.string == "myBackgroundSessionIdentifier" }
    #expect(background?["type"]?.string == "background")
    #expect(listed.contains { $0["type"]?.string == "ephemeral" })
    #expect(
      listed.contains {
        $0["configuration"]?["urlCache"]?["diskCapacity"]?.integer == 268_435_456
          && $0["configuration"]?["urlCache"]?["memoryCapacity"]?.integer == 16_384
      })
    for session in sessions { session.invalidateAndCancel() }
  }

  @Test func `listing 1-3 creates a second session with a changed configuration`() async throws {
    let ephemeralConfigObject = fixture.configuration(.ephemeral)
    let ephemeralSession = FerrySession(configuration: ephemeralConfigObject)
    ephemeralConfigObject.allowsCellularAccess = false
    let ephemeralSessionWiFiOnly = FerrySession(
      configuration: ephemeralConfigObject, delegate: delegate(), delegateQueue: nil)
    #expect(ephemeralSession.configuration.allowsCellularAccess)
    #expect(!ephemeralSessionWiFiOnly.configuration.allowsCellularAccess)
    let (data, _) = try await ephemeralSessionWiFiOnly.data(from: fixture.url("/"))
    #expect(Array(data) == ScenarioOrigin.body)
    ephemeralSessionWiFiOnly.finishTasksAndInvalidate()
  }

  @Test func `listing 1-4 requests a resource without a delegate`() async throws {
    let delegateFreeSession = FerrySession(
      configuration: fixture.configuration(), delegate: nil, delegateQueue: FerryDelegateQueue())
    let ended = Waiter()
    let got = Mutex<(status: Int?, text: String?, hasError: Bool)>((nil, nil, true))
    delegateFreeSession.dataTask(with: fixture.url("/")) { data, response, error in
      got.withLock {
        $0 = (
          (response as? HTTPFerryResponse)?.statusCode, data.map { String(decoding: $0, as: UTF8.self) },
          error != nil
        )
      }
      ended.resume()
    }.resume()
    await ended.wait()
    #expect(got.withLock { $0 } == (200, String(decoding: ScenarioOrigin.body, as: UTF8.self), false))
  }

  @Test func `listing 1-5 runs a data task`() async throws {
    let delegate = delegate()
    let defaultSession = fixture.session(delegate)
    let dataTask = defaultSession.dataTask(with: fixture.url("/"))
    dataTask.resume()
    await delegate.ended.wait()
    let text = String(decoding: ScenarioOrigin.body, as: UTF8.self)
    #expect(delegate.properties.withLock { $0.lines } == ["data \(text)", "complete"])
  }

  @Test func `listings 1-6 to 1-8 download in a background session`() async throws {
    let delegate = delegate()
    let called = Waiter()
    delegate.addCompletionHandler({ called.resume() }, forSession: "listing-6")
    let backgroundSession = FerrySession(
      configuration: fixture.configuration(.background(withIdentifier: "listing-6")), delegate: delegate,
      delegateQueue: nil)
    let downloadTask = backgroundSession.downloadTask(with: fixture.url("/ObjC_classic/FoundationObjC.pdf"))
    downloadTask.resume()
    await delegate.ended.wait()
    await called.wait()
    let properties = delegate.properties.withLock { ($0.lines, $0.moved, $0.error) }
    #expect(properties.2 == nil)
    let moved = try #require(properties.1)
    #expect(Array(try Data(contentsOf: moved)) == ScenarioOrigin.body)
    #expect(
      properties.0.filter { !$0.hasPrefix("wrote") } == [
        "finished downloading", "complete", "finished events",
      ])
    try FileManager.default.removeItem(at: moved)
  }

  @Test func `listing 1-9 rejoins a background session`() async throws {
    // The first run of the program has created the session and a task, of whose events it has received none.
    let server = FerryServer(url: "http://127.0.0.1:\(fixture.ferry.port)")
    let configuration = FerrySessionConfiguration.background(withIdentifier: "listing-9")
    configuration.server = server
    await fixture.session(delegate(), configuration).flush()
    let listed = try fixture.ferry.call("GET", "/v1/sessions?limit=500").json["items"]?.elements ?? []
    let first = try #require(listed.first { $0["identifier"]?.string == "listing-9" })
    _ = try fixture.ferry.create(fixture.url("/").absoluteString, kind: "download", session: first.id)
    let delegate = delegate()
    let called = Waiter()
    delegate.handleEvents(forBackgroundURLSession: "listing-9", server) { called.resume() }
    await called.wait()
    let properties = delegate.properties.withLock { ($0.lines, $0.moved) }
    #expect(
      properties.0.filter { !$0.hasPrefix("wrote") } == [
        "finished downloading", "complete", "finished events",
      ])
    let moved = try #require(properties.1)
    #expect(Array(try Data(contentsOf: moved)) == ScenarioOrigin.body)
    try FileManager.default.removeItem(at: moved)
  }
}

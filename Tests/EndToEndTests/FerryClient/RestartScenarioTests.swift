import FerryClient
import Foundation
import TestSupport
import Testing

/// Background sessions of FerryClient while the service restarts.
@Suite(.serialized, .blocking, .endsInTime) struct RestartScenarioTests {
  @Test(arguments: [SIGTERM, SIGKILL])
  func `delegate of a background download receives each call once`(after signal: Int32) async throws {
    let place = try BackgroundFixture()
    let address = "127.0.0.1:\(place.ferry.port)"
    let isRestarted = DispatchSemaphore(value: 0)
    let body = Pattern.bytes(200_000)
    let origin = TestOrigin { _, socket in
      let reply = TestOrigin.reply("200 OK", body)
      try socket.write(Array(reply[..<100_000]))
      _ = isRestarted.wait(timeout: .now() + Patience.seconds)
      try socket.write(Array(reply[100_000...]))
      return true
    }
    let configuration = FerrySessionConfiguration.background(withIdentifier: "restart")
    configuration.server = FerryServer(url: "http://\(address)")
    let recorder = FullRecorder()
    let session = FerrySession(configuration: configuration, delegate: recorder, delegateQueue: nil)
    let task = session.downloadTask(with: URL(string: origin.url)!)
    task.resume()
    let id = try await task.identifierInService()
    _ = try place.task(id, received: 1)
    place.stop(signal)
    try place.start(options: ["--listen", address])
    isRestarted.signal()
    await recorder.end()
    let result = recorder.result
    #expect(result.calls.filter { $0 != "wrote" } == ["created", "finished", "metrics", "complete"])
    #expect(result.file.map { Array($0) } == body && result.error == nil && origin.requests.count == 1)
    session.invalidateAndCancel()
    await recorder.end(2)
    #expect(recorder.calls.last == "invalid")
  }
}

import EventLoop
import FerryClient
import Foundation
import TestSupport
import Testing

/// Downloads of FerryClient that become files on the service's machine.
@Suite(.serialized, .blocking, .endsInTime) struct DestinationScenarioTests {
  private let place = TemporaryDirectory.make("placed")
  private let fixture: FerrySessionFixture
  init() throws { fixture = try FerrySessionFixture(options: ["--destination-directory", place]) }

  private func content(_ name: String) -> [UInt8]? {
    FileManager.default.contents(atPath: "\(place)/\(name)").map { Array($0) }
  }

  @Test func `delegate receives the file at the destination, which stays`() async throws {
    defer { try? FileManager.default.removeItem(atPath: place) }
    let recorder = FullRecorder()
    let task = fixture.session(recorder).downloadTask(with: fixture.url("/"))
    task.destination = FerryDestination(file: place + "/a/b")
    task.resume()
    await recorder.end()
    #expect(recorder.result.file.map { Array($0) } == ScenarioOrigin.body)
    #expect(content("a/b") == ScenarioOrigin.body)
    #expect(recorder.calls.filter { $0 != "wrote" } == ["created", "finished", "metrics", "complete"])
  }

  @Test func `async download returns the name that was free`() async throws {
    defer { try? FileManager.default.removeItem(atPath: place) }
    let (session, request) = (fixture.session(), FerryRequest(url: fixture.url("/")))
    var destination = FerryDestination(file: place + "/a.bin")
    let (first, _) = try await session.download(for: request, to: destination)
    #expect(first.path == place + "/a.bin")
    let error = await #expect(throws: FerryError.self) {
      _ = try await session.download(for: request, to: destination)
    }
    #expect(error?.code == .destinationFailed)
    destination.ifExists = .rename
    let (second, response) = try await session.download(for: request, to: destination)
    #expect(second.path == place + "/a (1).bin" && (response as? HTTPFerryResponse)?.statusCode == 200)
    destination.ifExists = .replace
    #expect(try await session.download(for: request, to: destination).0.path == place + "/a.bin")
    #expect(content("a.bin") == ScenarioOrigin.body && content("a (1).bin") == ScenarioOrigin.body)
  }

  @Test func `destination outside the opened directories is refused`() async throws {
    defer { try? FileManager.default.removeItem(atPath: place) }
    let error = await #expect(throws: FerryError.self) {
      _ = try await fixture.session().download(
        for: FerryRequest(url: fixture.url("/")), to: FerryDestination(file: "/elsewhere/a"))
    }
    #expect(
      error?.code == .serviceRefused && error?.message.contains("/destination/file") == true,
      "\(String(describing: error))")
    #expect(fixture.origin.requests.isEmpty)
  }
}

import Foundation
import JSON
import TestSupport
import Testing

/// A data directory whose service stops and starts during the test. Its worker is killed at the end of the test.
final class BackgroundFixture {
  let directory = TemporaryDirectory.make("ferry-worker")
  private let options: [String]
  private var service: FerryProcess?

  init(options: [String] = []) throws {
    self.options = options
    try start()
  }

  deinit {
    service = nil
    if let pid = worker.pid { kill(pid, SIGKILL) }
    try? FileManager.default.removeItem(atPath: directory)
  }

  var ferry: FerryProcess {
    guard let service else { fatalError("no service runs") }
    return service
  }

  var worker: FerryWorker { FerryWorker(directory: directory) }

  /// Starts the service.
  /// - Parameter others: options that are added for this start.
  func start(options others: [String] = []) throws {
    service = try FerryProcess(directory: directory, options: options + others)
  }

  /// Stops the service and leaves its worker running.
  /// - Parameter signal: `SIGTERM` or `SIGKILL`.
  func stop(_ signal: Int32) {
    if signal == SIGTERM { #expect(ferry.terminate() == 0) } else { ferry.kill() }
    detachService()
  }

  /// Drops the service without ending its worker.
  private func detachService() {
    service?.leavesWorker = true
    service = nil
  }

  /// Creates a background session and returns its id.
  func session(_ name: String = "a", _ configuration: String = "{}", delegate: String = "{}") throws -> String
  {
    let reply = try ferry.background(
      name, #","configuration":\#(configuration),"delegate":\#(delegate)"#)
    #expect(reply.status == 201)
    return reply.json.id
  }

  /// Returns the task after it has received `count` bytes or has completed.
  func task(_ id: String, received count: Int64) throws -> JSONValue {
    try ferry.poll("/v1/tasks/\(id)") { $0.received >= count || $0["state"]?.string == "completed" }
  }

  /// Stores a file and returns the id of a new upload task that sends it.
  func upload(_ bytes: [UInt8], to url: String, session: String) throws -> String {
    let file = try ferry.client().send(
      "POST", "/v1/files", bytes, [("Content-Type", "application/octet-stream")]
    ).json.id
    return try ferry.create(
      url, kind: "upload", session: session, request: #","method":"PUT","body":{"file":"\#(file)"}"#)
  }
}

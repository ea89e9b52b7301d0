import Foundation
import JSON
import TestSupport
import Testing

/// A data directory whose service comes and goes; the worker beside it stays until the test is over.
final class BackgroundPlace {
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
    guard let service else { fatalError("the service is down") }
    return service
  }

  var worker: FerryWorker { FerryWorker(directory: directory) }

  /// - Parameter others: options that this time it has as well.
  func start(options others: [String] = []) throws {
    service = try FerryProcess(directory: directory, options: options + others)
  }

  /// SIGTERM or SIGKILL.
  func stop(_ signal: Int32) {
    if signal == SIGTERM { #expect(ferry.terminate() == 0) } else { ferry.kill() }
    leaveWorker()
  }

  /// The service is gone; its worker is not ended with it.
  private func leaveWorker() {
    service?.leavesWorker = true
    service = nil
  }

  /// The id of a new background session with that configuration.
  func session(_ name: String = "a", _ configuration: String = "{}", delegate: String = "{}") throws -> String
  {
    let reply = try ferry.background(
      name, #","configuration":\#(configuration),"delegate":\#(delegate)"#)
    #expect(reply.status == 201)
    return reply.json.id
  }

  /// The task once it has received as much; at most 20 s.
  func task(_ id: String, received count: Int64) throws -> JSONValue {
    try ferry.poll("/v1/tasks/\(id)") { $0.received >= count || $0["state"]?.string == "completed" }
  }

  /// The file of a new upload from a stored file.
  func upload(_ bytes: [UInt8], to url: String, session: String) throws -> String {
    let file = try ferry.client().send(
      "POST", "/v1/files", bytes, [("Content-Type", "application/octet-stream")]
    ).json.id
    return try ferry.create(
      url, kind: "upload", session: session, request: #","method":"PUT","body":{"file":"\#(file)"}"#)
  }
}

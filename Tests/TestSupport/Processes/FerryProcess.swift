import EventLoop
package import Foundation
import JSON
import Synchronization
import Testing

/// A `ferry serve` process on a free port, by default with a data directory of its own.
package final class FerryProcess: FerryAPI {
  package let port: Int
  package let directory: String
  /// The version of libcurl in the `listening` log entry.
  package let libcurl: String
  /// The log up to the `listening` entry.
  package let startLog: String
  private let process: ChildProcess
  private let output = Pipe()
  private let logged = SharedBytes()
  private let ownsDirectory: Bool
  /// The number of running services by data directory.
  private static let users = Mutex<[String: Int]>([:])
  /// Whether the worker outlives this service.
  package var leavesWorker = false
  /// The version of libcurl that must be loaded. If `nil`, any.
  package static let wantedLibcurl = ProcessInfo.processInfo.environment["WANTED_LIBCURL"]
  /// The namespace of the service. If `nil`, that of this process.
  package let namespace: NetworkNamespace?

  /// - Parameters:
  ///   - networks: The values of `--allow-network`.
  ///   - wrapper: A command that runs the binary, such as `unshare`.
  ///   - input: The standard input.
  ///   - announced: Receives the log so far, whenever it grows, until the service listens.
  package init(
    directory: String? = nil, networks: [String] = ["127.0.0.0/8"], options: [String] = [],
    wrapper: [String] = [], environment: [String: String] = [:], in namespace: NetworkNamespace? = nil,
    input: FileHandle? = nil, announced: (String) -> Void = { _ in }
  ) throws {
    self.namespace = namespace
    ownsDirectory = directory == nil
    self.directory = directory ?? TemporaryDirectory.make("ferry-test")
    let arguments =
      (namespace?.command([]) ?? []) + wrapper + [
        Self.binary, "serve", "--listen", "127.0.0.1:0", "--data-directory", self.directory,
      ]
      + networks.flatMap { ["--allow-network", $0] } + options
    process = try ChildProcess(
      "/usr/bin/env", arguments, environment: ChildProcess.environment(with: environment),
      input: input.map { .file($0) } ?? .nothing, output: .pipe(output))
    (port, libcurl, startLog) = try Self.readAnnouncement(output.fileHandleForReading, announced)
    guard [libcurl, nil].contains(Self.wantedLibcurl) else {
      kill()
      throw Socket.Failure(operation: "ferry has loaded libcurl \(libcurl)", errno: 0)
    }
    // A readability handler is unsafe here: its dispatch source may outlive the descriptor and crash the process.
    Self.users.withLock { $0[self.directory, default: 0] += 1 }
    let handle = output.fileHandleForReading
    let logged = logged
    POSIXThread.spawn(name: "test-output") {
      while case let data = handle.availableData, !data.isEmpty { logged.withLock { $0 += data } }
    }
  }

  /// The log since the service listens.
  package var log: [UInt8] { logged.withLock { Array($0) } }

  /// Waits until the log contains the text `count` times. Returns whether it does.
  package func hasLogged(_ text: String, times count: Int = 1) -> Bool {
    Patience.wait { String(decoding: log, as: UTF8.self).components(separatedBy: text).count <= count }
  }

  deinit {
    if process.isRunning { kill() }
    if !leavesWorker { endWorker() }
    let isLast = Self.users.withLock { users in
      users[directory, default: 1] -= 1
      return users[directory] == 0
    }
    // If another service uses the directory, that service reviews the journal.
    if isLast, worker.pid == nil { review() }
    if ownsDirectory { try? FileManager.default.removeItem(atPath: directory) }
  }

  /// Checks the journal of every test against the life cycles of tasks and sessions.
  private func review() {
    for fault in JournalReview(of: directory)?.faults ?? [] {
      Issue.record("The journal in \(directory) breaks a rule of URLSession: \(fault)")
    }
  }

  /// The binary, which the build puts into the directory of the tests.
  package static var binary: String {
    let tests = (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")) ?? ""
    return URL(fileURLWithPath: tests).deletingLastPathComponent().appendingPathComponent("ferry").path
  }

  private static func readAnnouncement(
    _ handle: FileHandle, _ announced: (String) -> Void
  ) throws -> (port: Int, libcurl: String, text: String) {
    var text = ""
    while true {
      let data = handle.availableData
      guard !data.isEmpty else { throw Socket.Failure(operation: "ferry did not start: \(text)", errno: 0) }
      text += String(decoding: data, as: UTF8.self)
      announced(text)
      for line in text.split(separator: "\n") {
        let entry = try? JSONParser.parse(Array(line.utf8))
        guard entry?["message"]?.string == "listening", let address = entry?["address"]?.string else {
          continue
        }
        return (Int(address.split(separator: ":").last ?? "") ?? 0, entry?["libcurl"]?.string ?? "none", text)
      }
    }
  }

  package var isRunning: Bool { process.isRunning }

  package var processIdentifier: Int32 { process.processIdentifier }

  /// Sends SIGKILL and waits for the end.
  package func kill() {
    process.send(SIGKILL)
    process.waitUntilExit()
  }

  /// Sends a signal, unless the process has ended and its pid may be reused.
  package func signal(_ number: Int32) { process.send(number) }

  /// Waits for the end and returns the exit status.
  package func end() -> Int32 { process.terminationStatus }

  /// Sends SIGTERM, waits for the end, and returns the exit status.
  package func terminate() -> Int32 {
    process.terminate()
    return process.terminationStatus
  }

  // MARK: Calls

  /// Opens a connection to the service.
  package func client() throws -> HTTPClient { try HTTPClient(port: port, in: namespace) }

  /// Sends a request on a new connection.
  package func send(
    _ method: String, _ target: String, _ body: [UInt8]?, _ fields: [(String, String)]
  ) throws -> HTTPReply {
    try client().send(method, target, body, fields)
  }

  package func events(_ target: String, _ fields: [(String, String)]) throws -> EventReader {
    try EventReader(port: port, target, fields, in: namespace)
  }
}

/// Bytes that a thread appends while a test reads.
private final class SharedBytes: Sendable {
  private let bytes = Mutex(Data())
  func withLock<T>(_ body: (inout Data) -> T) -> T where T: Sendable { bytes.withLock { body(&$0) } }
}

import EventLoop
package import Foundation
import JSON
import Synchronization
import Testing

/// The real binary, on a free port and a data directory of its own.
package final class FerryProcess: FerryAPI {
  package let port: Int
  package let directory: String
  /// The version of libcurl that it says it has loaded.
  package let libcurl: String
  /// What it had logged when it said that it listens.
  package let startLog: String
  private let process: ChildProcess
  private let output = Pipe()
  private let logged = SharedBytes()
  private let ownsDirectory: Bool
  /// How many of them use a directory.
  private static let users = Mutex<[String: Int]>([:])
  /// Whether the worker goes on when this service's test has no more use for it.
  package var leavesWorker = false
  /// The version of libcurl that is to be loaded; nil: whichever there is.
  package static let wantedLibcurl = ProcessInfo.processInfo.environment["WANTED_LIBCURL"]
  /// The network that it is in; nil: this process's.
  package let namespace: NetworkNamespace?

  /// - Parameters:
  ///   - networks: what `--allow-network` opens.
  ///   - wrapper: a command to run the binary with, such as `unshare`.
  ///   - input: its standard input.
  ///   - announced: hears what it has logged before it listens, each time that there is more.
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
    // A thread and not a readability handler: its dispatch source may outlive the descriptor, and brings all down.
    Self.users.withLock { $0[self.directory, default: 0] += 1 }
    let handle = output.fileHandleForReading
    let logged = logged
    Thread.spawn(name: "test-output") {
      while case let data = handle.availableData, !data.isEmpty { logged.withLock { $0 += data } }
    }
  }

  /// What it has logged since it listens.
  package var log: [UInt8] { logged.withLock { Array($0) } }

  /// Waits, at most 20 s, until it has logged that so many times since it listens.
  package func hasLogged(_ text: String, times count: Int = 1) -> Bool {
    for _ in 0..<1000 {
      if String(decoding: log, as: UTF8.self).components(separatedBy: text).count > count { return true }
      usleep(20_000)
    }
    return false
  }

  deinit {
    if process.isRunning { kill() }
    if !leavesWorker { endWorker() }
    let isLast = Self.users.withLock { users in
      users[directory, default: 1] -= 1
      return users[directory] == 0
    }
    // Where another goes on, that one tells the end.
    if isLast, worker.pid == nil { review() }
    if ownsDirectory { try? FileManager.default.removeItem(atPath: directory) }
  }

  /// Every test is one of what tasks and sessions may tell.
  private func review() {
    for fault in JournalReview(of: directory)?.faults ?? [] {
      Issue.record("The journal in \(directory) tells what URLSession would not: \(fault)")
    }
  }

  /// Where the build put the binary: beside the tests.
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

  /// SIGKILL.
  package func kill() {
    process.send(SIGKILL)
    process.waitUntilExit()
  }

  /// Does nothing to a process that has ended: its number may be another's.
  package func signal(_ number: Int32) { process.send(number) }

  /// Waits for its end without a signal; returns the exit status.
  package func end() -> Int32 { process.terminationStatus }

  /// SIGTERM; returns the exit status.
  package func terminate() -> Int32 {
    process.terminate()
    return process.terminationStatus
  }

  // MARK: Calls

  /// A connection to it.
  package func client() throws -> HTTPClient { try HTTPClient(port: port, in: namespace) }

  /// One request on a connection of its own.
  package func send(
    _ method: String, _ target: String, _ body: [UInt8]?, _ fields: [(String, String)]
  ) throws -> HTTPReply {
    try client().send(method, target, body, fields)
  }

  package func events(_ target: String, _ fields: [(String, String)]) throws -> EventReader {
    try EventReader(port: port, target, fields, in: namespace)
  }
}

/// Bytes that a thread adds to while a test reads them.
private final class SharedBytes: Sendable {
  private let bytes = Mutex(Data())
  func withLock<T>(_ body: (inout Data) -> T) -> T where T: Sendable { bytes.withLock { body(&$0) } }
}

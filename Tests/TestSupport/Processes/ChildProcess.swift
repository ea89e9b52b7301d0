import EventLoop
package import Foundation
import Processes
import Synchronization

/// A program that a test runs.
///
/// Foundation's `Process` fails in a process with more than a thousand descriptors: it reads their names beyond
/// the end of its buffer (`findMaximumOpenFromProcSelfFD`).
package final class ChildProcess: Sendable {
  /// The source or target of a standard stream.
  package enum Stream {
    case nothing, inherited
    case file(FileHandle)
    /// A pipe whose other end this process uses.
    case pipe(Pipe)
  }

  package let processIdentifier: Int32
  private let status = Mutex<Int32?>(nil)

  /// Starts the program.
  /// - Parameters:
  ///   - environment: All of its variables. If `nil`, those of this process.
  ///   - directory: Its working directory. If `nil`, that of this process.
  ///   - error: The target of standard error. If `nil`, the same as the output.
  package init(
    _ executable: String, _ arguments: [String], environment: [String: String]? = nil,
    directory: String? = nil, input: Stream = .nothing, output: Stream = .inherited,
    error: Stream? = .inherited
  ) throws {
    var launch = ProcessLaunch(executable, [executable] + arguments)
    launch.environment = environment
    launch.directory = directory
    launch.input = input.launched(\.fileHandleForReading)
    launch.output = output.launched(\.fileHandleForWriting)
    launch.error = error?.launched(\.fileHandleForWriting) ?? .sameAsOutput
    processIdentifier = try launch.start()
    // An open write end in this process would keep a reader of the pipe from its end.
    input.close(\.fileHandleForReading)
    output.close(\.fileHandleForWriting)
    error?.close(\.fileHandleForWriting)
    // Reaps the process as soon as it ends, so that its pid no longer exists.
    let pid = processIdentifier
    POSIXThread.spawn(name: "test-child") { [self] in
      Self.wait(for: pid)
      end()
    }
  }

  package var isRunning: Bool { status.withLock { $0 == nil } }

  /// The exit status, or the signal that ended the program. Waits for its end.
  package var terminationStatus: Int32 {
    waitUntilExit()
    let status = status.withLock { $0 ?? 0 }
    return status & 0x7F == 0 ? (status >> 8) & 0xFF : status & 0x7F
  }

  package func waitUntilExit() {
    Self.wait(for: processIdentifier)
    end()
  }

  /// Sends SIGTERM.
  package func terminate() { send(SIGTERM) }

  package func send(_ signal: Int32) {
    status.withLock { if $0 == nil { kill(processIdentifier, signal) } }
  }

  /// Waits for the end without reaping the process.
  private static func wait(for pid: Int32) {
    var information = siginfo_t()
    while waitid(P_PID, UInt32(pid), &information, WEXITED | WNOWAIT) != 0, errno == EINTR {}
  }

  private func end() {
    status.withLock { status in
      guard status == nil else { return }
      var value: Int32 = 0
      if waitpid(processIdentifier, &value, 0) == processIdentifier { status = value }
    }
  }
}

extension ChildProcess {
  package struct Result: Sendable {
    package let status: Int32
    /// The bytes of its standard output and error.
    package let bytes: [UInt8]
    package var output: String { String(decoding: bytes, as: UTF8.self) }
  }

  /// Runs a program and waits for its end.
  /// - Parameters:
  ///   - environment: All of its variables. If `nil`, those of this process.
  ///   - patience: The seconds after which it is killed. If `nil`, there is no limit.
  package static func run(
    _ executable: String, _ arguments: [String], environment: [String: String]? = nil,
    directory: String? = nil, input: Stream = .nothing, patience: Double? = nil
  ) throws -> Result {
    let output = Pipe()
    let child = try ChildProcess(
      executable, arguments, environment: environment, directory: directory, input: input,
      output: .pipe(output), error: nil)
    let isOver = Gate()
    if let patience {
      POSIXThread.spawn(name: "test-patience") { if !isOver.wait(seconds: patience) { child.send(SIGKILL) } }
    }
    let bytes = Array(output.fileHandleForReading.readDataToEndOfFile())
    let status = child.terminationStatus
    isOver.open()
    return Result(status: status, bytes: bytes)
  }

  /// Returns this process's variables, with others added or replaced.
  package static func environment(with others: [String: String]) -> [String: String] {
    ProcessInfo.processInfo.environment.merging(others) { $1 }
  }
}

extension ChildProcess.Stream {
  fileprivate func launched(_ end: KeyPath<Pipe, FileHandle>) -> ProcessLaunch.Stream {
    switch self {
    case .nothing: .nothing
    case .inherited: .inherited
    case .file(let file): .descriptor(file.fileDescriptor)
    case .pipe(let pipe): .descriptor(pipe[keyPath: end].fileDescriptor)
    }
  }

  fileprivate func close(_ end: KeyPath<Pipe, FileHandle>) {
    if case .pipe(let pipe) = self { try? pipe[keyPath: end].close() }
  }
}

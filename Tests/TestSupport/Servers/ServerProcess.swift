import Foundation
import Synchronization

/// A third-party server as a child process with free ports, a directory, and a process group that ends with this
/// object.
package final class ServerProcess: Sendable {
  /// The command line of the server, whose output goes to `output.log`.
  package struct Command: Sendable {
    let executable: String
    let arguments: [String]
    let environment: [String: String]
    /// The prefix of the names of shared memory that remains after the server's end.
    let sharedMemory: String?

    package init(
      executable: String, arguments: [String], environment: [String: String] = [:],
      sharedMemory: String? = nil
    ) {
      self.executable = executable
      self.arguments = arguments
      self.environment = environment
      self.sharedMemory = sharedMemory
    }

    fileprivate func removeSharedMemory() {
      guard let sharedMemory else { return }
      let names = (try? FileManager.default.contentsOfDirectory(atPath: "/dev/shm")) ?? []
      for name in names where name.hasPrefix(sharedMemory) {
        try? FileManager.default.removeItem(atPath: "/dev/shm/" + name)
      }
    }
  }

  package let directory: String
  package let ports: [Int]
  private let id: Int32
  private let process: ChildProcess
  private let command: Command
  private let input: Pipe?

  /// - Parameters:
  ///   - hasIPv6: Whether the server also listens on `::1`.
  ///   - hasInput: Whether the server reads the text of `write`.
  ///   - prepare: Writes files to the directory, once.
  ///   - command: Returns the command line. The closure is called again with other ports if another process has taken
  ///     a port.
  package init(
    _ name: String, ports count: Int = 1, hasIPv6: Bool = false, hasInput: Bool = false,
    prepare: (_ directory: String) throws -> Void = { _ in },
    command: (_ directory: String, _ ports: [Int]) throws -> Command
  ) throws {
    directory = TemporaryDirectory.make(name)
    input = hasInput ? Pipe() : nil
    do {
      // Servers that root starts run as another user, and that user has to write here.
      try FileManager.default.setAttributes([.posixPermissions: 0o777], ofItemAtPath: directory)
      try prepare(directory)
      (process, ports, self.command) = try Self.start(name, count, hasIPv6, input, in: directory, command)
    } catch {
      try? FileManager.default.removeItem(atPath: directory)
      throw error
    }
    id = process.processIdentifier
    _ = Self.atExit
    Self.running.withLock { [directory, command = self.command] in $0[id] = (directory, command) }
  }

  deinit {
    _ = Self.running.withLock { $0.removeValue(forKey: id) }
    Self.end(id)
    process.waitUntilExit()
    command.removeSharedMemory()
    try? FileManager.default.removeItem(atPath: directory)
  }

  /// Servers that live until the exit of the process, because static objects are not released.
  private static let running = Mutex<[Int32: (directory: String, command: Command)]>([:])
  private static let atExit: Void = {
    atexit {
      for (id, server) in ServerProcess.running.withLock({ $0 }) {
        ServerProcess.end(id)
        server.command.removeSharedMemory()
        try? FileManager.default.removeItem(atPath: server.directory)
      }
    }
  }()

  /// Freezes the server until `goOn()`. A frozen server accepts connections, but does not answer.
  package func pause() { kill(id, SIGSTOP) }
  package func resume() { kill(id, SIGCONT) }

  package func write(_ text: String) throws {
    try input?.fileHandleForWriting.write(contentsOf: Data(text.utf8))
  }

  /// Kills the server and its children.
  private static func end(_ id: Int32) {
    kill(-id, SIGKILL)
    kill(id, SIGKILL)
  }

  private static func start(
    _ name: String, _ count: Int, _ hasIPv6: Bool, _ input: Pipe?, in directory: String,
    _ command: (String, [Int]) throws -> Command
  ) throws -> (ChildProcess, [Int], Command) {
    let output = directory + "/output.log"
    for _ in 0..<10 {
      let ports = freePorts(count)
      let command = try command(directory, ports)
      _ = FileManager.default.createFile(atPath: output, contents: nil)
      let process = try ChildProcess(
        command.executable, command.arguments,
        environment: ChildProcess.environment(with: command.environment), directory: directory,
        input: input.map { .file($0.fileHandleForReading) } ?? .nothing,
        output: FileHandle(forWritingAtPath: output).map { .file($0) } ?? .nothing, error: nil)
      var isReady = false
      Patience.wait {
        isReady = listens(process.processIdentifier, on: ports, hasIPv6)
        return process.isRunning && !isReady
      }
      if isReady { return (process, ports, command) }
      end(process.processIdentifier)
      process.waitUntilExit()
      command.removeSharedMemory()
    }
    let logs = ["output.log", "error.log"].map { text(of: directory + "/" + $0) }
    throw Socket.Failure(operation: "\(name) did not start: \(logs.joined())", errno: 0)
  }

  /// Returns ports below the range from which the kernel assigns ports.
  private static func freePorts(_ count: Int) -> [Int] {
    let ports = (10_000..<32_000).shuffled().lazy.filter { (try? Socket(connectingTo: $0)) == nil }
    return Array(ports.prefix(count))
  }

  /// Returns whether this process itself listens. A successful connection might reach another process that took the
  /// port first.
  private static func listens(_ id: Int32, on ports: [Int], _ hasIPv6: Bool) -> Bool {
    let folder = "/proc/\(id)/fd"
    let names = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
    let targets = names.map { try? FileManager.default.destinationOfSymbolicLink(atPath: folder + "/" + $0) }
    let sockets = Set(targets.compactMap(\.self))
    return ["tcp", "tcp6"].prefix(hasIPv6 ? 2 : 1).allSatisfy { name in
      // number, local address, remote address, state (0A: LISTEN), …, inode
      let rows = listening(in: name).map { $0.split(separator: " ") }
      let own = rows.filter { $0.count > 9 && $0[3] == "0A" && sockets.contains("socket:[\($0[9])]") }
      let open = Set(own.map { Int($0[1].split(separator: ":").last ?? "", radix: 16) })
      return ports.allSatisfy(open.contains)
    }
  }

  /// Returns the rows of a socket table that may be listeners. The C library filters the thousands of other rows,
  /// because unoptimised Swift is slow.
  private static func listening(in name: String) -> [String] {
    var (rows, row, capacity) = ([String](), UnsafeMutablePointer<CChar>?.none, 0)
    guard let file = fopen("/proc/net/" + name, "re") else { return [] }
    defer {
      fclose(file)
      free(row)
    }
    while getline(&row, &capacity, file) > 0 {
      if let row, strstr(row, " 0A ") != nil { rows.append(String(cString: row)) }
    }
    return rows
  }

  // MARK: Files

  /// Returns the lines of a log. Servers log after they answer, so the function waits for `count` lines.
  package func lines(of file: String, atLeast count: Int = 0) -> [String] {
    var lines: [String] = []
    Patience.wait {
      let text = Self.text(of: directory + "/" + file)
      lines = text.split(separator: "\n").map(String.init)
      return lines.count < count || !text.isEmpty && !text.hasSuffix("\n")
    }
    return lines
  }

  /// Waits until a log contains the text after the first `offset` bytes.
  /// - Returns: The offset of the end of the text, or `nil` if it does not appear.
  package func wait(for text: String, in file: String, from offset: Int = 0) -> Int? {
    var end: Int?
    Patience.wait {
      let bytes = Self.text(of: directory + "/" + file).utf8.dropFirst(offset)
      end = bytes.firstRange(of: text.utf8).map {
        offset + bytes.distance(from: bytes.startIndex, to: $0.upperBound)
      }
      return end == nil
    }
    return end
  }

  private static func text(of file: String) -> String {
    String(decoding: FileManager.default.contents(atPath: file) ?? Data(), as: UTF8.self)
  }
}

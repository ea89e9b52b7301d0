import Foundation
import JSON

/// The worker of a service under test.
package struct FerryWorker: Sendable {
  /// The service's data directory.
  private let directory: String
  private let lock: String

  package init(directory: String) {
    self.directory = directory
    lock = directory + "/worker.lock"
  }

  /// The worker's pid, or `nil` if none runs. The command line is checked, because the pid may have been reused.
  package var pid: Int32? {
    guard let data = FileManager.default.contents(atPath: lock),
      let number = (try? JSONParser.parse(Array(data)))?["pid"]?.integer, isWorker("\(number)")
    else { return nil }
    return Int32(number)
  }

  /// An ended process has an empty command line, whether reaped or not.
  private func isWorker(_ pid: String) -> Bool {
    let line = FileManager.default.contents(atPath: "/proc/\(pid)/cmdline") ?? Data()
    let words = line.split(separator: 0).map { String(decoding: $0, as: UTF8.self) }
    return words.contains("worker") && words.contains(directory)
  }

  /// Waits for a worker other than `former`. Returns its pid.
  package func wait(after former: Int32? = nil) throws -> Int32 {
    var found: Int32?
    Patience.wait {
      found = pid
      return found == nil || found == former
    }
    guard let found, found != former else { throw Socket.Failure(operation: "no worker started", errno: 0) }
    return found
  }

  /// Waits until the first worker accepts commands, and returns its pid. Earlier, SIGTERM would end the worker at
  /// once.
  package func waitUntilItWorks() throws -> Int32 {
    let pid = try wait()
    guard Patience.wait(while: { !log.contains("carrying out background tasks") }) else {
      throw Socket.Failure(operation: "the worker did not begin to work in time", errno: 0)
    }
    return pid
  }

  /// Sends a signal. Returns whether the worker ends within `patience` seconds.
  @discardableResult
  package func send(_ signal: Int32, patience: Double = Patience.seconds) throws -> Bool {
    let pid = try wait()
    kill(pid, signal)
    return Patience.wait(seconds: patience) { self.pid == pid }
  }

  /// The log of this worker and earlier workers.
  package var log: String {
    (try? String(contentsOfFile: directory + "/worker.log", encoding: .utf8)) ?? ""
  }
}

extension FerryProcess {
  package var worker: FerryWorker { FerryWorker(directory: directory) }

  /// Kills the worker, if there is one, so that it does not outlive the test.
  func endWorker() {
    guard let pid = worker.pid else { return }
    Foundation.kill(pid, SIGKILL)
    Patience.wait { worker.pid == pid }
  }
}

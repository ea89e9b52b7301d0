import Foundation
import JSON

/// The process that carries out the tasks of background sessions, and outlives the service.
package struct FerryWorker: Sendable {
  /// The service's data directory.
  private let directory: String
  private let lock: String

  package init(directory: String) {
    self.directory = directory
    lock = directory + "/worker.lock"
  }

  /// Its pid; nil where there is none. The number alone could be another program's by now.
  package var pid: Int32? {
    guard let data = FileManager.default.contents(atPath: lock),
      let number = (try? JSONParser.parse(Array(data)))?["pid"]?.integer, isWorker("\(number)")
    else { return nil }
    return Int32(number)
  }

  /// A process that has ended has no command line, whether somebody has waited for it or not.
  private func isWorker(_ pid: String) -> Bool {
    let line = FileManager.default.contents(atPath: "/proc/\(pid)/cmdline") ?? Data()
    let words = line.split(separator: 0).map { String(decoding: $0, as: UTF8.self) }
    return words.contains("worker") && words.contains(directory)
  }

  /// The pid of one that runs and is not `former`; waits for it, at most a minute.
  package func wait(after former: Int32? = nil) throws -> Int32 {
    let end = Date().addingTimeInterval(60)
    while Date() < end {
      if let pid, pid != former { return pid }
      usleep(10_000)
    }
    throw Socket.Failure(operation: "no worker came", errno: 0)
  }

  /// The pid of the first one, once it takes commands: until then SIGTERM ends it at once.
  package func waitUntilItWorks() throws -> Int32 {
    let pid = try wait()
    let end = Date().addingTimeInterval(60)
    while Date() < end {
      if log.contains("carries background tasks out") { return pid }
      usleep(10_000)
    }
    throw Socket.Failure(operation: "the worker has not begun to work", errno: 0)
  }

  /// Sends a signal, and returns whether the process has ended in so many seconds.
  @discardableResult
  package func send(_ signal: Int32, patience: Double = 10) throws -> Bool {
    let pid = try wait()
    kill(pid, signal)
    let end = Date().addingTimeInterval(patience)
    while self.pid == pid {
      guard Date() < end else { return false }
      usleep(5_000)
    }
    return true
  }

  /// What it and those before it have logged.
  package var log: String {
    (try? String(contentsOfFile: directory + "/worker.log", encoding: .utf8)) ?? ""
  }
}

extension FerryProcess {
  package var worker: FerryWorker { FerryWorker(directory: directory) }

  /// SIGKILL to the worker, where there is one: nothing of a test is to outlive it.
  func endWorker() {
    guard let pid = worker.pid else { return }
    Foundation.kill(pid, SIGKILL)
    for _ in 0..<1000 where worker.pid == pid { usleep(1000) }
  }
}

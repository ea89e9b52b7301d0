import Foundation
import JSON
import TestSupport
import Testing

/// The service as the first process of a container: nobody else looks after what is left over, and all ends with it.
@Suite(.blocking, .endsInTime) struct FirstProcessTests {
  private let directory = TemporaryDirectory.make("ferry-first")

  /// - Parameter script: run before the service takes the shell's place.
  private func start(_ script: String = ":") throws -> (ferry: FerryProcess, pid: Int32) {
    let ferry = try FerryProcess(
      directory: directory,
      wrapper: [
        "unshare", "--pid", "--fork", "--mount-proc", "--kill-child", "sh", "-c", script + "; exec \"$@\"",
        "sh",
      ])
    let pid = try #require(Self.children(of: ferry.processIdentifier).first?.pid)
    return (ferry, pid)
  }

  /// The numbers that they have here, and their states (proc_pid_stat(5)).
  private static func children(of parent: Int32) -> [(pid: Int32, state: String)] {
    let names = (try? FileManager.default.contentsOfDirectory(atPath: "/proc")) ?? []
    return names.compactMap { name in
      guard let pid = Int32(name),
        let line = try? String(contentsOfFile: "/proc/\(name)/stat", encoding: .utf8),
        let bracket = line.lastIndex(of: ")")
      else { return nil }
      let fields = line[line.index(after: bracket)...].split(separator: " ")
      return fields.count > 1 && fields[1] == "\(parent)" ? (pid, String(fields[0])) : nil
    }
  }

  private func waitForChildren(_ pid: Int32, until isDone: ([String]) -> Bool) -> Bool {
    for _ in 0..<1000 {
      if isDone(Self.children(of: pid).map(\.state)) { return true }
      usleep(20_000)
    }
    return false
  }

  /// Waits for its end without a signal of the test's own.
  private func end(of ferry: FerryProcess) -> Bool {
    for _ in 0..<1000 {
      if kill(ferry.processIdentifier, 0) != 0 || Self.children(of: ferry.processIdentifier).isEmpty {
        return true
      }
      usleep(20_000)
    }
    return false
  }

  @Test func orphansAreNotLeftAsZombies() throws {
    // The parent of that sleep is gone at once: then it is the first process's child.
    let (ferry, pid) = try start("(sleep 1000 &)")
    #expect(waitForChildren(pid) { $0.count == 1 })
    let orphan = try #require(Self.children(of: pid).first?.pid)
    kill(orphan, SIGKILL)
    #expect(waitForChildren(pid) { $0.isEmpty })
    #expect(try ferry.call("GET", "/livez").status == 200)
  }

  @Test func theWorkerEndsInGoodOrderBeforeIt() throws {
    let (ferry, pid) = try start()
    let session = try ferry.background("a", #","delegate":{}"#).json.id
    let origin = SlowOrigin(pace: 20_000)
    let id = try ferry.create(origin.url, kind: "download", session: session)
    _ = try ferry.poll("/v1/tasks/\(id)") { $0.received > 0 }
    kill(pid, SIGTERM)
    #expect(end(of: ferry))
    #expect(ferry.hasLogged("asks the worker to end"))
    #expect(ferry.worker.log.contains("all that it has done is written down"))
  }
}

import Foundation
import JSON
import TestSupport
import Testing

/// The service as the first process of a container. It must reap orphans, and its exit ends all other processes.
@Suite(.blocking, .endsInTime) struct InitProcessTests {
  private let directory = TemporaryDirectory.make("ferry-first")

  /// - Parameter script: a shell command that runs before the service.
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

  /// Returns the child processes: their ids in this namespace and their states (proc_pid_stat(5)).
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

  /// Waits until the service has ended, without sending it a signal.
  private func end(of ferry: FerryProcess) -> Bool {
    for _ in 0..<1000 {
      if kill(ferry.processIdentifier, 0) != 0 || Self.children(of: ferry.processIdentifier).isEmpty {
        return true
      }
      usleep(20_000)
    }
    return false
  }

  @Test func `orphans do not stay zombies`() throws {
    // The parent of the `sleep` ends at once, so the first process adopts it.
    let (ferry, pid) = try start("(sleep 1000 &)")
    #expect(waitForChildren(pid) { $0.count == 1 })
    let orphan = try #require(Self.children(of: pid).first?.pid)
    kill(orphan, SIGKILL)
    #expect(waitForChildren(pid) { $0.isEmpty })
    #expect(try ferry.call("GET", "/livez").status == 200)
  }

  @Test func `worker ends in order before the service`() throws {
    let (ferry, pid) = try start()
    let session = try ferry.background("a", #","delegate":{}"#).json.id
    let origin = SlowOrigin(pace: 20_000)
    let id = try ferry.create(origin.url, kind: "download", session: session)
    _ = try ferry.poll("/v1/tasks/\(id)") { $0.received > 0 }
    kill(pid, SIGTERM)
    #expect(end(of: ferry))
    #expect(ferry.hasLogged("asked the worker to end"))
    #expect(ferry.worker.log.contains("its progress is stored"))
  }
}

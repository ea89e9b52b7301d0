import Foundation
import TestSupport
import Testing

@Suite(.blocking) struct ServerProcessTests {
  /// The server exits as if its port were taken, and is started again.
  @Test func `server that exits gets other ports`() throws {
    var tried: [[Int]] = []
    let server = try ServerProcess("retry", ports: 2) { _, ports in
      tried.append(ports)
      let program =
        "import socket as s,sys,time\nl=[s.create_server(('127.0.0.1',int(p))) for p in sys.argv[1:]]"
      return ServerProcess.Command(
        executable: "/usr/bin/python3",
        arguments: ["-c", tried.count < 3 ? "exit(1)" : program + "\ntime.sleep(60)"] + ports.map(String.init)
      )
    }
    #expect(tried.count == 3 && tried.last == server.ports)
  }

  @Test func `server leaves neither files nor processes`() throws {
    var server: ServerProcess? = try ServerProcess("gone") { _, ports in
      ServerProcess.Command(
        executable: "/bin/bash",
        arguments: ["-c", "sleep 60 & exec microsocks -i 127.0.0.1 -p \(ports[0])"])
    }
    let (directory, port) = (try #require(server?.directory), try #require(server?.ports.first))
    #expect(try children(in: directory).count == 2)
    server = nil
    #expect(!FileManager.default.fileExists(atPath: directory) && (try? Socket(connectingTo: port)) == nil)
    #expect(try children(in: directory).isEmpty)
  }

  @Test func `server that cannot start reports its output`() throws {
    let error = #expect(throws: Socket.Failure.self) {
      _ = try ServerProcess("broken") { _, _ in
        ServerProcess.Command(executable: "/bin/bash", arguments: ["-c", "echo no such thing >&2; exit 3"])
      }
    }
    #expect(error?.operation == "broken did not start: no such thing\n")
  }

  /// Returns the processes whose working directory is `directory`.
  private func children(in directory: String) throws -> [String] {
    try FileManager.default.contentsOfDirectory(atPath: "/proc").filter {
      let path = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/\($0)/cwd")
      return Int($0) != nil && path?.hasSuffix("/" + (directory.split(separator: "/").last ?? "")) == true
    }
  }
}

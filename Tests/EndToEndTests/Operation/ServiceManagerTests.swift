import Processes
import EventLoop
import Foundation
import JSON
import TestSupport
import Testing

/// The notifications to a service manager (sd_notify(3)).
@Suite(.blocking, .endsInTime) struct ServiceManagerTests {
  private let directory = TemporaryDirectory.make("ferry-managed")
  private let socket: DatagramSocket

  init() throws { socket = try DatagramSocket("@ferry-\(UUID().uuidString)") }

  private func start(watchdog: Int? = nil) throws -> FerryProcess {
    var environment = ["NOTIFY_SOCKET": socket.name]
    environment["WATCHDOG_USEC"] = watchdog.map(String.init)
    return try FerryProcess(directory: directory, environment: environment)
  }

  @Test func `service manager receives each change of state`() throws {
    let ferry = try start()
    let ready = socket.next(having: "READY=1")
    #expect(ready == ["READY=1", "STATUS=Listening on 127.0.0.1:\(ferry.port)"])
    #expect(try ferry.call("GET", "/readyz").status == 200)
    ferry.signal(SIGHUP)
    let reloading = socket.next(having: "RELOADING=1")
    #expect(reloading?.contains { $0.hasPrefix("MONOTONIC_USEC=") } == true)
    #expect(socket.next(having: "READY=1") == ready)
    #expect(ferry.terminate() == 0)
    let stopping = socket.next(having: "STOPPING=1")
    #expect(stopping?.last == "STATUS=Finishing running requests, and accepting no new ones")
    #expect(socket.next(within: 0) == nil, "no watchdog notification without WATCHDOG_USEC")
  }

  /// A child process neither notifies the manager nor keeps the listening socket open.
  @Test func `worker does not inherit the sockets`() throws {
    let given = try InheritedSocket(.loopback)
    let ferry = try FerryProcess(
      directory: directory, wrapper: InheritedSocket.wrapper(), environment: ["NOTIFY_SOCKET": socket.name],
      input: given.handle)
    _ = try ferry.background("a", #","delegate":{}"#)
    let worker = try ferry.worker.wait()
    let variables = try String(contentsOfFile: "/proc/\(worker)/environ", encoding: .utf8).split(
      separator: "\0")
    #expect(!variables.isEmpty)
    #expect(!variables.contains { $0.hasPrefix("NOTIFY_") || $0.hasPrefix("LISTEN_") })
    #expect(try Self.sockets(of: ferry.processIdentifier).contains(Self.inode(of: given)))
    #expect(try !Self.sockets(of: worker).contains(Self.inode(of: given)))
  }

  private static func sockets(of pid: Int32) throws -> Set<String> {
    let names = try FileManager.default.contentsOfDirectory(atPath: "/proc/\(pid)/fd")
    return Set(
      names.compactMap { try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/\(pid)/fd/\($0)") }
    )
  }

  private static func inode(of socket: InheritedSocket) throws -> String {
    try FileManager.default.destinationOfSymbolicLink(
      atPath: "/proc/self/fd/\(socket.handle.fileDescriptor)")
  }

  @Test func `watchdog receives notifications`() throws {
    let ferry = try start(watchdog: 300_000)
    for _ in 0..<5 { #expect(socket.next(having: "WATCHDOG=1") != nil) }
    #expect(ferry.terminate() == 0)
  }

  /// The test locks the database, so that the writing thread hangs and the watchdog is no longer notified.
  @Test func `hanging store stops the watchdog`() throws {
    let ferry = try start(watchdog: 150_000)
    #expect(socket.next(having: "WATCHDOG=1") != nil)
    let turns = try #require(FairFileLock(path: directory + "/ferry.db-turn"))
    #expect(turns.lock(patience: .seconds(5)))
    let client = try ferry.client()
    let body = #"{"configuration":{}}"#
    let head =
      "POST /v1/sessions HTTP/1.1\r\nHost: 127.0.0.1:\(ferry.port)\r\nContent-Type: application/json\r\n"
    try client.socket.write(head + "Content-Length: \(body.utf8.count)\r\n\r\n" + body)
    #expect(ferry.hasLogged(#""message":"parts of the service are unresponsive","parts":"ferry-store""#))
    // Notifications that were already sent.
    while socket.next(within: 0) != nil {}
    #expect(socket.next(within: 500) == nil)
    #expect(try ferry.call("GET", "/livez").status == 200, "the other threads still reply")
    turns.unlock()
    #expect(try client.readReply().status == 201)
    #expect(socket.next(having: "WATCHDOG=1") != nil)
  }

  @Test func `malformed watchdog interval is reported in one line`() throws {
    let result = try FerryCommand.run(
      ["serve", "--listen", "127.0.0.1:0", "--data-directory", directory],
      environment: ["WATCHDOG_USEC": "often"])
    #expect(result.status == 1)
    #expect(
      result.output
        == "ferry: WATCHDOG_USEC: 'often' is not a number of microseconds above 0; unset it, or correct it\n")
  }
}

import Processes
import EventLoop
import Foundation
import JSON
import TestSupport
import Testing

/// What a service manager hears (sd_notify(3)).
@Suite(.blocking, .endsInTime) struct ServiceManagerTests {
  private let directory = TemporaryDirectory.make("ferry-managed")
  private let socket: DatagramSocket

  init() throws { socket = try DatagramSocket("@ferry-\(UUID().uuidString)") }

  private func start(watchdog: Int? = nil) throws -> FerryProcess {
    var environment = ["NOTIFY_SOCKET": socket.name]
    environment["WATCHDOG_USEC"] = watchdog.map(String.init)
    return try FerryProcess(directory: directory, environment: environment)
  }

  @Test func itsLifeIsTold() throws {
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
    #expect(stopping?.last == "STATUS=Answering what is under way, and taking no new work")
    #expect(socket.next(within: 0) == nil, "nobody has asked for a watchdog")
  }

  /// Nothing that the service starts speaks in its name, or keeps its door open.
  @Test func theWorkerInheritsNothing() throws {
    let given = try HandedOver(.loopback)
    let ferry = try FerryProcess(
      directory: directory, wrapper: HandedOver.wrapper(), environment: ["NOTIFY_SOCKET": socket.name],
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

  private static func inode(of socket: HandedOver) throws -> String {
    try FileManager.default.destinationOfSymbolicLink(
      atPath: "/proc/self/fd/\(socket.handle.fileDescriptor)")
  }

  @Test func itSaysThatItLives() throws {
    let ferry = try start(watchdog: 300_000)
    for _ in 0..<5 { #expect(socket.next(having: "WATCHDOG=1") != nil) }
    #expect(ferry.terminate() == 0)
  }

  /// Another keeps the database: the thread that writes stands still, and whoever manages the service is not told that it lives.
  @Test func aStoreThatHangsIsNotAlive() throws {
    let ferry = try start(watchdog: 150_000)
    #expect(socket.next(having: "WATCHDOG=1") != nil)
    let turns = try #require(Turnstile(path: directory + "/ferry.db-turn"))
    #expect(turns.enter(patience: .seconds(5)))
    let client = try ferry.client()
    let body = #"{"configuration":{}}"#
    let head =
      "POST /v1/sessions HTTP/1.1\r\nHost: 127.0.0.1:\(ferry.port)\r\nContent-Type: application/json\r\n"
    try client.socket.write(head + "Content-Length: \(body.utf8.count)\r\n\r\n" + body)
    #expect(ferry.hasLogged(#""message":"does not answer","parts":"ferry-store""#))
    // Those that were on their way.
    while socket.next(within: 0) != nil {}
    #expect(socket.next(within: 500) == nil)
    #expect(try ferry.call("GET", "/livez").status == 200, "the other threads go on")
    turns.leave()
    #expect(try client.readReply().status == 201)
    #expect(socket.next(having: "WATCHDOG=1") != nil)
  }

  @Test func whatCannotBeReadIsSaidInOneLine() throws {
    let result = try FerryCommand.run(
      ["serve", "--listen", "127.0.0.1:0", "--data-directory", directory],
      environment: ["WATCHDOG_USEC": "often"])
    #expect(result.status == 1)
    #expect(result.output == "ferry: WATCHDOG_USEC: 'often' is not a number of microseconds\n")
  }
}

import Foundation
import TestSupport
import Testing

@testable import Processes

@Suite struct ServiceManagerTests {
  @Test(
    arguments: [
      (.ready("Listening"), "READY=1\nSTATUS=Listening"),
      (.reloading(at: 1_234_567, "Reading"), "RELOADING=1\nMONOTONIC_USEC=1234567\nSTATUS=Reading"),
      (.stopping("Ending"), "STOPPING=1\nSTATUS=Ending"),
      (.watchdog, "WATCHDOG=1"), (.status("Opening"), "STATUS=Opening"),
      // A second line would be another assignment.
      (.status("a\nMAINPID=1\r\nb"), "STATUS=a MAINPID=1 b"),
    ] as [(ServiceNotification, String)])
  func `notification has the expected text`(_ notification: ServiceNotification, _ text: String) {
    #expect(notification.text == text)
  }

  @Test(arguments: [true, false]) func `notification reaches its socket`(_ isAbstract: Bool) throws {
    let name = isAbstract ? "@ferry-\(UUID().uuidString)" : TemporaryDirectory.make("notify") + "/socket"
    let socket = try DatagramSocket(name)
    let manager = ServiceManager(socket: name)
    #expect(manager.notify(.ready("ä")) == 0)
    #expect(socket.next() == "READY=1\nSTATUS=ä")
    manager.tellReloading("Reading")
    let lines = socket.next()?.split(separator: "\n") ?? []
    #expect(lines.count == 3 && lines[0] == "RELOADING=1")
    #expect(Int(lines[1].dropFirst("MONOTONIC_USEC=".count)).map { $0 > 0 } == true)
  }

  @Test func `manager that does not read does not block`() throws {
    let socket = try DatagramSocket("@ferry-\(UUID().uuidString)")
    let manager = ServiceManager(socket: socket.name)
    let codes = (0..<2000).map { _ in manager.notify(.watchdog) }
    #expect(codes.first == 0 && codes.last == EAGAIN)
  }

  @Test func `notification without a manager is not sent`() {
    #expect(ServiceManager(socket: nil).notify(.watchdog) == 0)
    #expect(ServiceManager(socket: "/nowhere/at/all").notify(.watchdog) == ENOENT)
    #expect(ServiceManager(socket: "/" + String(repeating: "x", count: 200)).notify(.watchdog) == EINVAL)
  }
}

@Suite struct ServiceEnvironmentTests {
  private func parse(_ values: [String: String]) throws -> ServiceEnvironment {
    try ServiceEnvironment(values, pid: 42)
  }

  @Test func `environment without a manager is empty`() throws {
    let none = try parse([:])
    #expect(none.notifySocket == nil && none.watchdog == nil && none.sockets == [])
    #expect(try none.socket == nil)
    #expect(try parse(["NOTIFY_SOCKET": ""]) == none)
  }

  @Test func `values for this process are read`() throws {
    let given = try parse([
      "NOTIFY_SOCKET": "@name", "WATCHDOG_USEC": "3000000", "WATCHDOG_PID": "42", "LISTEN_PID": "42",
      "LISTEN_FDS": "1", "LISTEN_FDNAMES": "ferry",
    ])
    #expect(given.notifySocket == "@name" && given.watchdog == .seconds(3) && given.sockets == ["ferry"])
    #expect(try given.socket == 3)
    #expect(try parse(["WATCHDOG_USEC": "5"]).watchdog == .microseconds(5))
  }

  @Test func `values for another process are ignored`() throws {
    let other = try parse([
      "WATCHDOG_USEC": "x", "WATCHDOG_PID": "43", "LISTEN_PID": "43", "LISTEN_FDS": "1",
    ])
    let none = try parse([:])
    #expect(other == none)
    #expect(try parse(["LISTEN_FDS": "1"]).sockets == [])
  }

  @Test(arguments: [
    (["NOTIFY_SOCKET": "vsock:2:1234"], "NOTIFY_SOCKET: "), (["WATCHDOG_USEC": "-1"], "WATCHDOG_USEC: "),
    (["WATCHDOG_USEC": "soon"], "WATCHDOG_USEC: "),
    (["LISTEN_PID": "42", "LISTEN_FDS": "many"], "LISTEN_FDS: "),
    (["LISTEN_PID": "42", "LISTEN_FDS": "1000000000"], "LISTEN_FDS: "),
  ]) func `unreadable value is an error`(_ values: [String: String], _ start: String) {
    let fault = #expect(throws: ServiceEnvironment.Fault.self) { try parse(values) }
    #expect(fault?.description.hasPrefix(start) == true)
  }

  @Test func `second passed socket is an error`() throws {
    let two = try parse(["LISTEN_PID": "42", "LISTEN_FDS": "2", "LISTEN_FDNAMES": "a:b"])
    let fault = #expect(throws: ServiceEnvironment.Fault.self) { try two.socket }
    #expect(fault?.description.contains("leave one in the socket unit (a, b)") == true)
    // A list of names with the wrong length is ignored.
    #expect(
      try parse(["LISTEN_PID": "42", "LISTEN_FDS": "1", "LISTEN_FDNAMES": "a:b"]).sockets == ["unknown"])
  }
}

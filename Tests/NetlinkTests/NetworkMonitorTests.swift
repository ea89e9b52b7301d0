import Addresses
import EventLoop
import Synchronization
import TestSupport
import Testing

@testable import Netlink

/// Only root can enter namespaces, or a process inside `unshare -Urn` with `lo` up.
@Suite(.serialized, .blocking, .enabled(if: NetworkNamespace.isOpenToThreads))
struct NetworkMonitorTests {
  /// A monitor of a namespace, with its own loop.
  private final class Watch: Sendable {
    private actor Resident {
      nonisolated let loop: EventLoop
      nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }
      init(_ loop: EventLoop) { self.loop = loop }
      func run(_ body: @Sendable () -> Void) { body() }
    }
    let monitor: NetworkMonitor
    let loop = EventLoop(name: "test-netlink")
    private let resident: Resident
    let changes = Mutex<[NetworkSnapshot]>([])

    init(_ namespace: NetworkNamespace) async throws {
      let socket = try namespace.inside { try NetlinkSocket() }
      monitor = NetworkMonitor(socket: socket, loop: loop)
      resident = Resident(loop)
      loop.start()
      await resident.run { [self] in
        monitor.start { [unowned self] snapshot in
          #expect(loop.isOnLoop)
          #expect(monitor.snapshot == snapshot)
          changes.withLock { $0.append(snapshot) }
        }
      }
    }

    func stop() async {
      await resident.run { [self] in monitor.stop() }
      await loop.stopAndJoin()
    }

    /// Runs `body` on the loop.
    func hold(_ body: @Sendable () -> Void) async { await resident.run(body) }

    /// Waits for a snapshot that fits.
    func becomes(_ isWanted: (NetworkSnapshot) -> Bool) async throws -> Bool {
      let limit = ContinuousClock.now + .seconds(Patience.seconds)
      while ContinuousClock.now < limit {
        if let snapshot = monitor.snapshot, isWanted(snapshot) { return true }
        try await Task.sleep(for: .milliseconds(5))
      }
      return false
    }
  }

  /// Two namespaces and a cable: eth0 with 192.0.2.1/24 and 2001:db8::1/64 in the first one, far0 in the second.
  private func withCable(_ body: (NetworkNamespace, NetworkNamespace, Watch) async throws -> Void)
    async throws
  {
    let (here, there) = (try NetworkNamespace(), try NetworkNamespace())
    try here.connect("eth0", "192.0.2.1/24", to: there, "far0", "192.0.2.2/24")
    try here.ip("address add 2001:db8::1/64 dev eth0 nodad")
    let watch = try await Watch(here)
    try await body(here, there, watch)
    await watch.stop()
  }

  private func address(_ text: String) throws -> IPAddress { try #require(IPAddress(text)) }
  private func interface(_ snapshot: NetworkSnapshot, _ name: String) -> NetworkInterface? {
    snapshot.interfaces.first { $0.name == name }
  }

  @Test func `first snapshot has all interfaces and routes`() async throws {
    try await withCable { _, _, watch in
      #expect(try await watch.becomes { !$0.interfaces.isEmpty })
      let snapshot = try #require(watch.monitor.snapshot)
      #expect(snapshot.interfaces.map(\.name).sorted() == ["eth0", "lo"])
      let lo = try #require(interface(snapshot, "lo"))
      #expect(lo.isLoopback && lo.isUsable)
      #expect(lo.addresses == [.v4(0x7F00_0001), .v6(high: 0, low: 1)])
      let eth0 = try #require(interface(snapshot, "eth0"))
      #expect(eth0.isUsable && !eth0.isLoopback)
      #expect(eth0.addresses.contains(.v4(0xC000_0201)))
      #expect(eth0.addresses.contains(try address("2001:db8::1")))
      for (text, hasRoute) in [
        ("192.0.2.2", true), ("192.0.2.1", true), ("127.0.0.1", true), ("198.51.100.1", false), ("::1", true),
        ("2001:db8::2", true), ("2001:db9::2", false),
      ] {
        #expect(snapshot.hasRoute(to: try address(text)) == hasRoute, "\(text)")
      }
    }
  }

  @Test func `link changes are reported`() async throws {
    try await withCable { here, there, watch in
      let far = try address("192.0.2.2")
      #expect(try await watch.becomes { $0.hasRoute(to: far) })
      try here.ip("link set eth0 down")
      #expect(try await watch.becomes { interface($0, "eth0")?.isUp == false && !$0.hasRoute(to: far) })
      try here.ip("link set eth0 up")
      #expect(try await watch.becomes { interface($0, "eth0")?.isUp == true && $0.hasRoute(to: far) })
      // The cable is pulled. The interface stays on, and its route stays too.
      try there.ip("link set far0 down")
      #expect(try await watch.becomes { interface($0, "eth0")?.isRunning == false && !$0.hasRoute(to: far) })
      let snapshot = try #require(watch.monitor.snapshot)
      #expect(interface(snapshot, "eth0")?.isUp == true && snapshot.route(to: far) != nil)
      try there.ip("link set far0 up")
      #expect(try await watch.becomes { $0.hasRoute(to: far) })
    }
  }

  @Test func `changes of addresses and routes are reported`() async throws {
    try await withCable { here, _, watch in
      let (own, distant) = (try address("192.0.2.1"), try address("198.51.100.1"))
      #expect(try await watch.becomes { interface($0, "eth0")?.addresses.contains(own) == true })
      try here.ip("route add default via 192.0.2.2 metric 50")
      #expect(try await watch.becomes { $0.hasRoute(to: distant) })
      #expect(watch.monitor.snapshot?.route(to: distant)?.metric == 50)
      try here.ip("route add unreachable 198.51.100.0/24")
      #expect(try await watch.becomes { !$0.hasRoute(to: distant) })
      try here.ip("route del unreachable 198.51.100.0/24")
      #expect(try await watch.becomes { $0.hasRoute(to: distant) })
      try here.ip("address del 192.0.2.1/24 dev eth0")
      #expect(
        try await watch.becomes {
          interface($0, "eth0")?.addresses.contains(own) == false && !$0.hasRoute(to: distant)
        })
      try here.ip("-6 route add default via 2001:db8::2")
      let six = try address("2001:db9::1")
      #expect(try await watch.becomes { $0.hasRoute(to: six) })
    }
  }

  @Test func `changes of interfaces are reported`() async throws {
    try await withCable { here, there, watch in
      try here.connect("wwan0", "198.51.100.1/24", to: there, "far1", "198.51.100.2/24")
      #expect(
        try await watch.becomes { interface($0, "wwan0")?.addresses.contains(.v4(0xC633_6401)) == true })
      #expect(try await watch.becomes { interface($0, "wwan0")?.isUsable == true })
      try here.ip("link del wwan0")
      #expect(try await watch.becomes { interface($0, "wwan0") == nil && interface($0, "eth0") != nil })
    }
  }

  @Test func `many changes are reported in few snapshots`() async throws {
    try await withCable { here, _, watch in
      let names = (1...200).map { "198.51.\($0 % 100).\($0)" }
      let lines = names.map { "route add \($0)/32 dev eth0" }.joined(separator: "\n")
      try here.run(["/bin/sh", "-c", "ip -batch - <<'END'\n\(lines)\nEND"])
      let addresses = try names.map { try address($0) }
      #expect(try await watch.becomes { snapshot in addresses.allSatisfy { snapshot.route(to: $0) != nil } })
      #expect(watch.changes.withLock { $0.count } < 50)
      try here.ip("route flush root 198.51.0.0/16")
      #expect(try await watch.becomes { snapshot in addresses.allSatisfy { snapshot.route(to: $0) == nil } })
    }
  }

  @Test func `snapshot is complete after lost messages`() async throws {
    try await withCable { here, _, watch in
      #expect(try await watch.becomes { interface($0, "eth0")?.isUsable == true })
      // The loop sleeps while the kernel sends more than the socket can buffer.
      let (asleep, awake) = (Gate(), Gate())
      let sleeper = Task {
        await watch.hold {
          asleep.open()
          awake.wait()
        }
      }
      asleep.wait()
      let numbers = "for a in $(seq 0 15); do for b in $(seq 0 249); do"
      let route = "echo route add 10.$a.$b.0/24 dev eth0"
      try here.run(["/bin/sh", "-c", "\(numbers) \(route); done; done | ip -batch -"])
      // The last columns: Dump, Locks, Drops, Inode.
      let sockets = try here.run(["cat", "/proc/net/netlink"]).split(separator: "\n").dropFirst()
      #expect(sockets.contains { $0.split(separator: " ").dropLast().last != "0" }, "\(sockets)")
      awake.open()
      await sleeper.value
      let last = try address("10.15.249.1")
      #expect(try await watch.becomes { $0.hasRoute(to: last) && $0.routes.count > 4000 })
    }
  }
}

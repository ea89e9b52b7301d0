import Cluster
import Foundation
import Glibc
import Processes
import Simulation
import TestSupport
import Testing

/// The contract of `ClusterCoordinator`, for the real implementation and the simulated one.
@Suite struct ClusterCoordinatorTests {
  enum Kind: CaseIterable { case real, simulated }

  /// A process.
  private struct Member {
    let view: any ClusterCoordinator
    let renew: () -> Void
    let leave: () -> Void
    /// Returns whether another process has sent a wakeup since the last call.
    let hasRung: () -> Bool
  }

  /// The shared environment of the processes.
  private final class Town {
    /// Lets time pass without any heartbeat.
    let pass: (_ seconds: Double) -> Void
    let enter: () throws -> Member

    init(_ kind: Kind) {
      switch kind {
      case .real:
        let directory = TemporaryDirectory.make("ferry-coordination")
        pass = { seconds in Town.age(in: directory, by: seconds) }
        enter = {
          let place = try ProcessRegistration(in: directory, version: "1")
          return Member(
            view: place, renew: place.renewLease, leave: place.close, hasRung: { place.bell.drain() })
        }
      case .simulated:
        let clock = SimulatedClock()
        let places = SimulatedRegistrations(clock: clock)
        var count = 0
        pass = { clock.run($0) }
        enter = {
          count += 1
          let address = "node-\(count)"
          let rings = Rings()
          places.enter(address) { rings.count += 1 }
          return Member(
            view: SimulatedCoordinator(address, among: places), renew: { places.renew(address) },
            leave: { places.leave(address) }, hasRung: rings.take)
        }
      }
    }

    private final class Rings {
      var count = 0
      func take() -> Bool {
        defer { count = 0 }
        return count > 0
      }
    }

    /// A process reports its heartbeat as the modification time of its lock.
    private static func age(in directory: String, by seconds: Double) {
      let folder = "\(directory)/\(ProcessRegistration.folder)"
      for name in (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
      where name.hasSuffix(".lock") {
        var information = stat()
        guard stat("\(folder)/\(name)", &information) == 0 else { continue }
        var time = information.st_mtim
        time.tv_sec -= Int(seconds)
        let times = [time, time]
        #expect(utimensat(AT_FDCWD, "\(folder)/\(name)", times, 0) == 0)
      }
    }
  }

  @Test(arguments: Kind.allCases) func `process is alive until it leaves`(_ kind: Kind) throws {
    let town = Town(kind)
    let (first, second) = (try town.enter(), try town.enter())
    #expect(first.view.address != second.view.address)
    for member in [first, second] {
      #expect(first.view.isAlive(at: member.view.address) && second.view.isAlive(at: member.view.address))
    }
    second.leave()
    #expect(first.view.isAlive(at: first.view.address) && !first.view.isAlive(at: second.view.address))
    first.leave()
  }

  /// A process keeps its shards for as long as it may rely on its last lease.
  @Test(arguments: Kind.allCases) func `process counts as frozen after its lease`(_ kind: Kind) throws {
    let town = Town(kind)
    let (first, second) = (try town.enter(), try town.enter())
    let address = second.view.address
    let lease = try #require(second.view.lease)
    for _ in 0..<3 {
      town.pass(Double(lease.components.seconds) + 1)
      first.renew()
      #expect(first.view.isAlive(at: address))
      second.renew()
    }
    town.pass(2 * Double(lease.components.seconds) + 1)
    first.renew()
    first.renew()
    #expect(!first.view.isAlive(at: address))
    // The process wakes. The ledger decides what it still owns.
    second.renew()
    #expect(first.view.isAlive(at: address))
    for member in [first, second] { member.leave() }
  }

  @Test(arguments: Kind.allCases) func `ring reaches one process only`(_ kind: Kind) throws {
    let town = Town(kind)
    let members = [try town.enter(), try town.enter(), try town.enter()]
    #expect(members.allSatisfy { !$0.hasRung() })
    members[0].view.wake(at: members[1].view.address)
    members[2].view.wake(at: members[1].view.address)
    #expect(members.map { $0.hasRung() } == [false, true, false])
    #expect(!members[1].hasRung())
    members[1].leave()
    members[0].view.wake(at: members[1].view.address)
    #expect(!members[0].hasRung() && !members[2].hasRung())
    for member in [members[0], members[2]] { member.leave() }
  }

  /// Addresses come from the ledger, and an older version may have written them.
  @Test(arguments: Kind.allCases, ["", "nobody", "..", "../processes/x", "a/b", "node-9", "\u{0}"])
  func `unknown address is not alive`(_ kind: Kind, _ address: String) throws {
    let town = Town(kind)
    let member = try town.enter()
    #expect(!member.view.isAlive(at: address))
    member.view.wake(at: address)
    #expect(!member.hasRung())
    member.leave()
  }
}

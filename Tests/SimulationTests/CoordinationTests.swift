import Cluster
import Foundation
import Glibc
import Processes
import Simulation
import TestSupport
import Testing

/// What holds of every `Coordination`: of the real one, and of that which stands for it where a world is simulated.
@Suite struct CoordinationTests {
  enum Kind: CaseIterable { case real, simulated }

  /// One of the processes.
  private struct Member {
    let view: any Coordination
    let renew: () -> Void
    let leave: () -> Void
    /// Whether somebody has rung since this was asked last.
    let hasRung: () -> Bool
  }

  /// Where they find each other.
  private final class Town {
    /// Time passes in which nobody says anything.
    let pass: (_ seconds: Double) -> Void
    let enter: () throws -> Member

    init(_ kind: Kind) {
      switch kind {
      case .real:
        let directory = TemporaryDirectory.make("ferry-coordination")
        pass = { seconds in Town.age(in: directory, by: seconds) }
        enter = {
          let place = try ProcessPlace(in: directory, version: "1")
          return Member(
            view: place, renew: place.renew, leave: place.close, hasRung: { place.bell.take() })
        }
      case .simulated:
        let clock = WorldClock()
        let places = ServicePlaces(clock: clock)
        var count = 0
        pass = { clock.run($0) }
        enter = {
          count += 1
          let address = "node-\(count)"
          let rings = Rings()
          places.enter(address) { rings.count += 1 }
          return Member(
            view: SimulatedCoordination(address, among: places), renew: { places.renew(address) },
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

    /// A process says that it lives by the time of its lock.
    private static func age(in directory: String, by seconds: Double) {
      let folder = "\(directory)/\(ProcessPlace.folder)"
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

  @Test(arguments: Kind.allCases) func whoTakesPartLivesUntilItLeaves(_ kind: Kind) throws {
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

  /// While it may still rely on what it has seen, nobody takes anything from it.
  @Test(arguments: Kind.allCases) func whoIsSilentIsTakenToStandStill(_ kind: Kind) throws {
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
    // It goes on: it is for the ledger to say whether anything is its own.
    second.renew()
    #expect(first.view.isAlive(at: address))
    for member in [first, second] { member.leave() }
  }

  @Test(arguments: Kind.allCases) func aRingReachesOne(_ kind: Kind) throws {
    let town = Town(kind)
    let members = [try town.enter(), try town.enter(), try town.enter()]
    #expect(members.allSatisfy { !$0.hasRung() })
    members[0].view.ring(at: members[1].view.address)
    members[2].view.ring(at: members[1].view.address)
    #expect(members.map { $0.hasRung() } == [false, true, false])
    #expect(!members[1].hasRung())
    members[1].leave()
    members[0].view.ring(at: members[1].view.address)
    #expect(!members[0].hasRung() && !members[2].hasRung())
    for member in [members[0], members[2]] { member.leave() }
  }

  /// Addresses come from the ledger, which an older version may have written.
  @Test(arguments: Kind.allCases, ["", "nobody", "..", "../processes/x", "a/b", "node-9", "\u{0}"])
  func whoNeverWasDoesNotLive(_ kind: Kind, _ address: String) throws {
    let town = Town(kind)
    let member = try town.enter()
    #expect(!member.view.isAlive(at: address))
    member.view.ring(at: address)
    #expect(!member.hasRung())
    member.leave()
  }
}

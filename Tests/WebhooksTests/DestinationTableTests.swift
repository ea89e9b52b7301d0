import Limits
import Testing
import TransferModel

@testable import Webhooks

@Suite struct DestinationTableTests {
  private static let room = Limits.destinations.value
  private static let start = Timestamp(seconds: 1_700_000_000)
  private static func id(_ number: Int) -> DestinationID { DestinationID(high: 3, low: UInt64(number)) }

  private static func serve(_ numbers: Range<Int>, of tenant: String, in table: inout DestinationTable) -> Int
  {
    var count = 0
    for number in numbers
    where table.serve(id(number), of: Tenant(name: tenant), isKnown: true, includesFutureAttempts: false) {
      count += 1
    }
    return count
  }

  @Test func `one tenant gets three quarters of the room`() {
    var table = DestinationTable()
    let first = Self.serve(0..<Self.room, of: "a", in: &table)
    let second = Self.serve(Self.room..<2 * Self.room, of: "b", in: &table)
    // Others get a little, although all room is taken.
    let third = Self.serve(2 * Self.room..<2 * Self.room + 100, of: "c", in: &table)
    #expect(first == Self.room / 4 * 3 && second == Self.room / 4 && third == 16)
  }

  @Test func `tenants take turns when room is made`() {
    var table = DestinationTable()
    _ = Self.serve(0..<Self.room, of: "a", in: &table)
    _ = Self.serve(Self.room..<2 * Self.room, of: "b", in: &table)
    let early = table.wake(at: Self.start)
    #expect(early.isEmpty)
    for number in 0..<10 { table.remove(Self.id(number)) }
    let found = table.wake(at: Self.start)
    #expect(found.count == 10 && table.served.count == Self.room)
    let tenants = found.compactMap { table.served[$0]?.tenant.name }
    #expect(tenants.count { $0 == "a" } == 5 && tenants.count { $0 == "b" } == 5)
  }

  @Test func `destination with a later attempt takes no room`() {
    var table = DestinationTable()
    for number in 0..<2 * Self.room {
      let count = Self.serve(number..<number + 1, of: "a", in: &table)
      #expect(count == 1)
      table.wait(Self.id(number), until: Self.start.adding(seconds: Double(number)), pauseEnd: nil)
    }
    #expect(table.served.isEmpty && table.isComplete)
    let due = table.wake(at: Self.start.adding(seconds: 2))
    #expect(due == [Self.id(0), Self.id(1), Self.id(2)])
  }

  @Test func `beyond the limit the latest are left out until their time`() {
    var table = DestinationTable()
    let limit = Limits.waitingDestinations.value
    for number in 0...limit {
      _ = Self.serve(number..<number + 1, of: "a", in: &table)
      table.wait(Self.id(number), until: Self.start.adding(seconds: Double(number)), pauseEnd: nil)
    }
    #expect(!table.isComplete && table.forgottenAt == Self.start.adding(seconds: Double(limit)))
    table.willScan()
    #expect(table.isComplete)
  }

  @Test func `outdated alarms are dropped`() {
    var table = DestinationTable()
    for round in 0..<10_000 {
      _ = Self.serve(0..<1, of: "a", in: &table)
      table.wait(Self.id(0), until: Self.start.adding(seconds: Double(10_000 - round)), pauseEnd: nil)
    }
    #expect(table.alarmCount <= 1002)
    #expect(table.nextDue == Self.start.adding(seconds: 1))
  }

  @Test func `new message wakes a waiting destination, but not during its pause`() {
    var table = DestinationTable()
    _ = Self.serve(0..<2, of: "a", in: &table)
    let later = Self.start.adding(seconds: 100)
    table.wait(Self.id(0), until: later, pauseEnd: nil)
    table.wait(Self.id(1), until: later, pauseEnd: Self.start.adding(seconds: 50))
    let noted = (0..<3).map { table.note(Self.start, for: Self.id($0)) }
    #expect(noted == [true, true, false])
    let woken = [table.wake(at: Self.start), table.wake(at: Self.start.adding(seconds: 50))]
    #expect(woken == [[Self.id(0)], [Self.id(1)]])
  }
}

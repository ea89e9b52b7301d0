import TestSupport
import Testing

@testable import Ledger

struct EventNumbersTests {
  /// The numbers of a single process are dense. Numbers for memory are reserved first, and a later process starts after the reservation.
  @Test func `single process assigns dense numbers and reserves them for memory`() {
    var numbers = EventNumbers(journal: 7, reserved: 0)
    #expect(numbers.last == 7 && numbers.reservation(for: 8) == 8 + EventNumbers.step)
    numbers.setReservation(reserved: 8 + EventNumbers.step)
    numbers.advance(to: 8)
    #expect(numbers.reservation(for: 9) == nil)
    // The process's own events on disk do not end its reserved range.
    numbers.catchUp(journal: 8, reserved: 8 + EventNumbers.step)
    #expect(numbers.last == 8)
    #expect(EventNumbers(journal: 8, reserved: 8 + EventNumbers.step).last == 8 + EventNumbers.step)
  }

  @Test(arguments: [1, 2, 3, 4, 5] as [UInt64]) func `two processes assign distinct numbers`(_ seed: UInt64) {
    var generator = SplitMix64(seed: seed)
    var (journal, reserved): (Int64, Int64) = (0, 0)
    var processes = [EventNumbers(journal: 0, reserved: 0), EventNumbers(journal: 0, reserved: 0)]
    var given: Set<Int64> = []
    for _ in 0..<2_000 {
      let index = Int.random(in: 0...1, using: &generator)
      var numbers = processes[index]
      numbers.catchUp(journal: journal, reserved: reserved)
      let first = numbers.last + 1
      let last = numbers.last + Int64.random(in: 1...3, using: &generator)
      // The event is either durable or in memory only.
      if Bool.random(using: &generator) {
        journal = last
      } else if let reservation = numbers.reservation(for: last) {
        reserved = reservation
        numbers.setReservation(reserved: reservation)
      }
      numbers.advance(to: last)
      #expect(first > processes[index].last)
      for number in first...last { #expect(given.insert(number).inserted) }
      // A restarted process does not reuse numbers.
      let isNew = Int.random(in: 0..<50, using: &generator) == 0
      processes[index] = isNew ? EventNumbers(journal: journal, reserved: reserved) : numbers
      if isNew { #expect(processes[index].last >= last) }
    }
  }
}

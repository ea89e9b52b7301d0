import TestSupport
import Testing

@testable import MemoryLedger

/// Applies the same random changes to a table and a dictionary.
@Suite struct SortedTableTests {
  private struct Row: MemorySized, Equatable {
    var memorySize: Int
  }

  @Test(arguments: [4, 60, 3000] as [UInt64]) func `table has the rows of a dictionary`(_ keys: UInt64) {
    var random = SplitMix64(seed: keys)
    var table = SortedTable<UInt64, Row>()
    var rows: [UInt64: Row] = [:]
    let empty = table.memorySize
    for step in 0..<6000 {
      let key = random.next() % keys
      switch random.next() % 5 {
      case 0, 1:
        rows[key] = Row(memorySize: step)
        table.set(Row(memorySize: step), for: key)
      case 2:
        rows[key]?.memorySize += 1
        table.change(key) { $0.memorySize += 1 }
      case 3: #expect(table.remove(key) == rows.removeValue(forKey: key))
      default: #expect(table[key] == rows[key] && table.contains(key) == (rows[key] != nil))
      }
      guard step.isMultiple(of: 500) else { continue }
      let sorted = rows.sorted { $0.key < $1.key }
      #expect(table.all().map(\.key) == sorted.map(\.key) && table.all().map(\.row) == sorted.map(\.value))
      #expect(table.first?.key == sorted.first?.key && table.last?.key == sorted.last?.key)
      #expect(table.all(after: key).map(\.key) == sorted.map(\.key).filter { $0 > key })
      #expect(table.last(through: key)?.key == sorted.map(\.key).last { $0 <= key })
    }
    table.remove(Array(rows.keys))
    #expect(table.isEmpty && table.memorySize == empty && Array(table.all()).isEmpty)
  }

  @Test func memorySizeCountsRowsAndKeys() {
    var table = SortedTable<UInt64, Row>()
    table.set(Row(memorySize: 100), for: 1)
    let one = table.memorySize
    #expect(one > 100)
    table.set(Row(memorySize: 300), for: 1)
    #expect(table.memorySize == one + 200)
    table.change(1) { $0.memorySize = 100 }
    table.set(Row(memorySize: 100), for: 2)
    #expect(table.memorySize == 2 * one)
  }

  @Test func emptyGroupsAreRemoved() {
    var groups = SortedGroups<String, Int>()
    for key in [3, 1, 2] { groups.insert(key, in: "a") }
    groups.insert(9, in: "b")
    #expect(groups["a"].all().map(\.key) == [1, 2, 3] && groups["c"].isEmpty)
    for key in 1...3 { groups.remove(key, from: "a") }
    groups.remove(7, from: "c")
    #expect(groups["a"].isEmpty && groups["b"].all().map(\.key) == [9])
    groups.remove(9, from: "b")
    #expect(groups.memorySize == 0)
  }
}

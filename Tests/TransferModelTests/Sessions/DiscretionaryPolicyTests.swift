import Foundation
import TestSupport
import Testing

@testable import TransferModel

@Suite struct DiscretionaryPolicyTests {
  @Test(
    arguments: [
      ("22:00-06:00", 1320, 360), ("00:00-24:00", 0, 1440), ("00:00-00:01", 0, 1),
      ("23:59-00:00", 1439, 1440),
      ("09:30-17:45", 570, 1065), ("06:00-05:59", 360, 359),
    ])
  func `window is read`(_ text: String, _ start: Int, _ end: Int) throws {
    let window = try DailyWindow(text)
    #expect(window.start == start)
    #expect(window.end == end)
  }

  @Test(
    arguments: [
      "", "-", "22:00", "22:00-", "22:00-06:00-07:00", "22:00–06:00", "22:00 - 06:00", "2:00-06:00", "22-06",
      "24:01-06:00", "25:00-06:00", "22:60-06:00", "22:0a-06:00", "+2:00-06:00", "22:00-24:01", "２２:00-06:00",
    ])
  func `invalid window is refused`(_ text: String) {
    let message = "\"\(text)\" is not a window of the form HH:MM-HH:MM; write it like 22:00-06:00"
    #expect(throws: DailyWindow.Fault(message: message)) { try DailyWindow(text) }
  }

  @Test(arguments: ["22:00-22:00", "00:00-00:00"])
  func `empty window is refused`(_ text: String) {
    let message = "\"\(text)\" ends when it starts; write 00:00-24:00 for the whole day"
    #expect(throws: DailyWindow.Fault(message: message)) { try DailyWindow(text) }
  }

  @Test func `window that starts at the end of the day is refused`() {
    #expect(
      throws: DailyWindow.Fault(message: "\"24:00-06:00\" starts at 24:00; write 00:00 instead")
    ) { try DailyWindow("24:00-06:00") }
  }

  private static func policy(_ windows: [String], load: Double? = nil) throws -> DiscretionaryPolicy {
    DiscretionaryPolicy(windows: try windows.map { try DailyWindow($0) }, maximumLoad: load)
  }
  private static func time(_ text: String) throws -> Timestamp {
    try #require(Timestamp("2026-11-21T\(text)Z"))
  }

  @Test(
    arguments: [
      ([], "12:00:00", true), (["09:00-17:00"], "08:59:59.999999", false),
      (["09:00-17:00"], "09:00:00", true),
      (["09:00-17:00"], "16:59:59.999999", true), (["09:00-17:00"], "17:00:00", false),
      (["22:00-06:00"], "21:59:59", false), (["22:00-06:00"], "22:00:00", true),
      (["22:00-06:00"], "00:00:00", true), (["22:00-06:00"], "05:59:59", true),
      (["22:00-06:00"], "06:00:00", false), (["01:00-02:00", "12:00-13:00"], "12:30:00", true),
      (["01:00-02:00", "12:00-13:00"], "02:30:00", false), (["00:00-24:00"], "23:59:59", true),
    ] as [([String], String, Bool)])
  func `tasks run inside the windows only`(_ windows: [String], _ time: String, _ expected: Bool) throws {
    let policy = try Self.policy(windows)
    #expect(policy.mayRun(at: try Self.time(time), load: 99, othersAreActive: false) == expected)
    #expect(
      !policy.mayRun(at: try Self.time(time), load: 0, othersAreActive: true),
      "discretionary tasks yield to all others")
  }

  @Test(
    arguments: [(nil, 1000, true), (2, 1.99, true), (2, 2, false), (2, 3, false)] as [(Double?, Double, Bool)]
  )
  func `tasks run below the maximum load only`(_ maximum: Double?, _ load: Double, _ expected: Bool) throws {
    let policy = try Self.policy(["09:00-17:00"], load: maximum)
    #expect(policy.mayRun(at: try Self.time("12:00:00"), load: load, othersAreActive: false) == expected)
    #expect(!policy.mayRun(at: try Self.time("18:00:00"), load: load, othersAreActive: false))
  }

  @Test(
    arguments: [
      ([], "12:00:00", nil), (["00:00-24:00"], "12:00:00", nil),
      (["00:00-12:00", "12:00-00:00"], "03:00:00", nil),
      (["09:00-17:00"], "08:00:30", "2026-11-21T09:00:00.000Z"),
      (["09:00-17:00"], "09:00:00", "2026-11-21T17:00:00.000Z"),
      (["09:00-17:00"], "17:00:00", "2026-11-22T09:00:00.000Z"),
      (["22:00-06:00"], "23:00:00", "2026-11-22T06:00:00.000Z"),
      (["18:00-24:00"], "23:59:59.999999", "2026-11-22T00:00:00.000Z"),
      // The end of one window is the start of another, or lies within another, so nothing changes at that time.
      (["22:00-23:00", "23:00-02:00"], "22:30:00", "2026-11-22T02:00:00.000Z"),
      (["09:00-12:00", "11:00-14:00"], "09:30:00", "2026-11-21T14:00:00.000Z"),
    ] as [([String], String, String?)])
  func `change opens or closes a window`(_ windows: [String], _ time: String, _ expected: String?) throws {
    #expect(try Self.policy(windows).nextChange(after: try Self.time(time))?.description == expected)
  }

  /// Compares with a search minute by minute.
  @Test(arguments: UInt64(1)...20)
  func `next change is the minute in which the answer changes`(_ seed: UInt64) throws {
    var generator = SplitMix64(seed: seed)
    func clock(_ minute: Int) -> String { String(format: "%02d:%02d", minute / 60, minute % 60) }
    for _ in 0..<20 {
      let windows = try (0..<Int.random(in: 1...4, using: &generator)).map { _ in
        let start = Int.random(in: 0..<1440, using: &generator)
        let length = Int.random(in: 1..<1440, using: &generator)
        return try DailyWindow("\(clock(start))-\(clock((start + length) % 1440))")
      }
      let policy = DiscretionaryPolicy(windows: windows)
      let time = Timestamp(microseconds: .random(in: 0..<4_000_000_000_000_000, using: &generator))
      let isOpen = { policy.mayRun(at: $0, load: 0, othersAreActive: false) }
      let expected = (1...1440).lazy.map { Timestamp(seconds: (time.seconds / 60 + Int64($0)) * 60) }
        .first { isOpen($0) != isOpen(time) }
      #expect(policy.nextChange(after: time) == expected)
    }
  }
}

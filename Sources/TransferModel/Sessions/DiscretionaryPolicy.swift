/// A part of each day in UTC, such as `22:00-06:00`. It includes its start and excludes its end.
package struct DailyWindow: Sendable, Equatable {
  package struct Fault: Error, Sendable, Equatable, CustomStringConvertible {
    package let message: String
    package var description: String { message }
  }
  static let minutesOfDay = 1440

  /// Minutes since midnight, 0 to 1439.
  package let start: Int
  /// Minutes since midnight, 1 to 1440. Less than `start` if the window crosses midnight.
  package let end: Int

  /// - Parameter text: `HH:MM-HH:MM`; the whole day is `00:00-24:00`.
  package init(_ text: String) throws(Fault) {
    let parts = text.split(separator: "-", omittingEmptySubsequences: false)
    guard parts.count == 2, let start = Self.minutes(parts[0]), let end = Self.minutes(parts[1]) else {
      throw Fault(message: "\"\(text)\" is not a window of the form HH:MM-HH:MM; write it like 22:00-06:00")
    }
    guard start < Self.minutesOfDay else {
      throw Fault(message: "\"\(text)\" starts at 24:00; write 00:00 instead")
    }
    guard start != end else {
      throw Fault(message: "\"\(text)\" ends when it starts; write 00:00-24:00 for the whole day")
    }
    self.start = start
    self.end = end == 0 ? Self.minutesOfDay : end
  }

  /// - Parameter minute: the minute of a day, 0 to 1439.
  func contains(minute: Int) -> Bool {
    start < end ? start <= minute && minute < end : start <= minute || minute < end
  }

  private static func minutes(_ text: Substring) -> Int? {
    let digits = Array(text.utf8)
    guard digits.count == 5, digits[2] == UInt8(ascii: ":") else { return nil }
    let numbers = [0, 1, 3, 4].map { Int(digits[$0]) - 48 }
    guard numbers.allSatisfy({ (0...9).contains($0) }) else { return nil }
    let (hour, minute) = (numbers[0] * 10 + numbers[1], numbers[2] * 10 + numbers[3])
    guard minute < 60, hour < 24 || (hour == 24 && minute == 0) else { return nil }
    return hour * 60 + minute
  }
}

/// The conditions for discretionary tasks (URLSessionConfiguration.isDiscretionary: "at the discretion of the system"). They run while no
/// other tasks do, within the operator's windows, and while the machine's load is low.
package struct DiscretionaryPolicy: Sendable, Equatable {
  /// Empty for any time.
  package var windows: [DailyWindow]
  /// The limit of the load average over a minute, as in uptime(1); `nil` for any load.
  package var maximumLoad: Double?

  package init(windows: [DailyWindow] = [], maximumLoad: Double? = nil) {
    self.windows = windows
    self.maximumLoad = maximumLoad
  }

  /// - Parameters:
  ///   - load: the machine's load average over a minute.
  ///   - othersAreActive: whether tasks that are not discretionary are running.
  package func mayRun(at time: Timestamp, load: Double, othersAreActive: Bool) -> Bool {
    guard !othersAreActive, isOpen(minute: Self.minute(of: time)) else { return false }
    return maximumLoad.map { load < $0 } ?? true
  }

  /// Returns when the windows next open or close; `nil` if they never do.
  package func nextChange(after time: Timestamp) -> Timestamp? {
    let now = Self.minute(of: time)
    let wasOpen = isOpen(minute: now)
    // A change needs the start or end of a window. Another window may cover that minute, so each is checked.
    let edges = windows.flatMap { [$0.start, $0.end] }.map { edge in
      let ahead = (edge - now) % DailyWindow.minutesOfDay
      return ahead > 0 ? ahead : ahead + DailyWindow.minutesOfDay
    }
    let ahead = edges.sorted().first { isOpen(minute: (now + $0) % DailyWindow.minutesOfDay) != wasOpen }
    return ahead.map { Timestamp(seconds: (Self.minutes(to: time) + Int64($0)) * 60) }
  }

  private func isOpen(minute: Int) -> Bool {
    windows.isEmpty || windows.contains { $0.contains(minute: minute) }
  }

  /// Returns whole minutes since 1970.
  private static func minutes(to time: Timestamp) -> Int64 { max(0, time.seconds) / 60 }

  private static func minute(of time: Timestamp) -> Int { Int(minutes(to: time)) % DailyWindow.minutesOfDay }
}

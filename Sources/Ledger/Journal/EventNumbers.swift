/// The counter of event numbers, as one of several processes that write to one ledger sees it. A plain value.
///
/// Durable events are numbered in the transaction that writes them. Events in memory take numbers from a range that was reserved on
/// disk. No other process uses the numbers of a reserved range, not even after a restart.
package struct EventNumbers: Sendable {
  /// The size of a reservation, in numbers.
  static let step: Int64 = 1_000_000

  /// The highest number that any process has assigned or reserved, as far as this process knows. The next number is greater.
  package private(set) var last: Int64
  /// The number of the newest event that this process has written or read. Other processes may still write lower numbers than `last`,
  /// unless this process has reserved them.
  package private(set) var newest: Int64
  /// The last reserved number, from any process.
  package private(set) var reserved: Int64

  /// - Parameters:
  ///   - journal: the highest number on disk.
  ///   - reserved: the last number that was reserved on disk.
  package init(journal: Int64, reserved: Int64) {
    last = max(journal, reserved)
    newest = journal
    self.reserved = reserved
  }

  /// Records the numbers that other processes have used. If another process has written or reserved numbers, the rest of this process's own
  /// range is lost, because higher numbers are already in use.
  package mutating func catchUp(journal: Int64, reserved: Int64) {
    if journal > last || reserved != self.reserved { last = max(last, journal, reserved) }
    self.reserved = reserved
    newest = max(newest, journal)
  }

  /// Returns the last number to reserve before memory may use numbers up to `sequence`; `nil` if they are reserved already.
  package func reservation(for sequence: Int64) -> Int64? {
    sequence > reserved ? sequence + Self.step : nil
  }

  package mutating func setReservation(reserved last: Int64) { reserved = last }

  /// Records that all events up to `sequence` are committed.
  package mutating func advance(to sequence: Int64) {
    guard sequence > last else { return }
    (last, newest) = (sequence, sequence)
  }
}

/// The numbers of events that only memory has seen must not be given out again after a restart: the disk knows a number
/// that is above all of them. Pure.
package struct SequenceReservation: Sendable {
  /// Numbers that a reservation is good for.
  static let step: Int64 = 1_000_000

  /// The last number before the first to be given out.
  package let first: Int64
  private var reserved: Int64

  /// - Parameters:
  ///   - last: the highest number on the disk.
  ///   - reserved: what was reserved before.
  package init(last: Int64, reserved: Int64) {
    first = max(last, reserved)
    self.reserved = reserved
  }

  /// What is to be reserved before memory may use the numbers up to `sequence`; nil where that was done.
  package func next(after sequence: Int64) -> Int64? { sequence > reserved ? sequence + Self.step : nil }

  package mutating func hold(_ last: Int64) { reserved = last }
}

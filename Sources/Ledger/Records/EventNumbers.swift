/// The numbers of events, as one of several processes gives them out that write to one ledger. Pure.
///
/// Events on the disk are numbered within the transaction that writes them. Those that only memory sees come from a range that was
/// reserved on the disk, so that nobody else gives their numbers out, and no process after this one.
package struct EventNumbers: Sendable {
  /// Numbers that a reservation is good for.
  static let step: Int64 = 1_000_000

  /// Behind which the next number comes: nobody has given out, or may give out, a greater one that this process knows of.
  package private(set) var last: Int64
  /// The number of the newest event that this process has written or read. Others may write lesser ones than `last`, as long as it has not
  /// reserved numbers itself.
  package private(set) var newest: Int64
  /// The last that is reserved, by whomever.
  package private(set) var reserved: Int64

  /// - Parameters:
  ///   - journal: the highest number on the disk.
  ///   - reserved: what was reserved before.
  package init(journal: Int64, reserved: Int64) {
    last = max(journal, reserved)
    newest = journal
    self.reserved = reserved
  }

  /// Learns what others have done meanwhile. Where they have written or reserved, what is left of a range of one's own is lost: numbers
  /// that are higher are known already.
  package mutating func catchUp(journal: Int64, reserved: Int64) {
    if journal > last || reserved != self.reserved { last = max(last, journal, reserved) }
    self.reserved = reserved
    newest = max(newest, journal)
  }

  /// What is to be reserved before memory may use the numbers up to `sequence`; nil where that was done.
  package func reservation(for sequence: Int64) -> Int64? {
    sequence > reserved ? sequence + Self.step : nil
  }

  package mutating func hold(reserved last: Int64) { reserved = last }

  /// What was numbered up to here is committed.
  package mutating func advance(to sequence: Int64) {
    guard sequence > last else { return }
    (last, newest) = (sequence, sequence)
  }
}

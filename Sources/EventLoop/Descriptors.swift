internal import CLinux
internal import Glibc
internal import Synchronization

/// The limit of this process's descriptors (RLIMIT_NOFILE). The last ones are reserved for clients, the ledger and running work.
/// Connections to origins, sessions and files of bodies must not use them.
package enum Descriptors {
  /// The share of the limit that is reserved, as a divisor; `mostReserved` caps the reservation.
  private static let share = 4
  private static let mostReserved = 512

  private static let known = Atomic<Int>(0)

  /// The greatest number of open descriptors.
  package static var limit: Int {
    let limit = known.load(ordering: .relaxed)
    return limit > 0 ? limit : remember(clinux_descriptor_limit())
  }

  /// Raises the limit as far as allowed, and returns the new limit.
  package static func raiseLimit() -> Int { remember(clinux_raise_descriptor_limit()) }

  private static func remember(_ limit: UInt64) -> Int {
    let limit = Int(clamping: limit)
    known.store(limit, ordering: .relaxed)
    return limit
  }

  /// Returns how many descriptors of a limit are reserved.
  package static func reserved(of limit: Int) -> Int { min(limit / share, mostReserved) }

  /// Closes a new descriptor if it is a reserved one. The kernel assigns the lowest free number, so the number shows how many are in use.
  /// - Returns: the same descriptor, or -1; errno is then EMFILE, or unchanged if the descriptor was negative.
  package static func rejectingReserved(_ descriptor: Int32) -> Int32 {
    guard descriptor >= limit - reserved(of: limit) else { return descriptor }
    Glibc.close(descriptor)
    errno = EMFILE
    return -1
  }

  /// Whether unreserved descriptors are left.
  package static var hasSpare: Bool {
    let probe = rejectingReserved(eventfd(0, Int32(EFD_CLOEXEC)))
    guard probe >= 0 else { return false }
    Glibc.close(probe)
    return true
  }
}

internal import CLinux
internal import Glibc
internal import Synchronization

/// The descriptors that this process may have open (RLIMIT_NOFILE). The last of them are for clients, the store and what is
/// at work already: connections to origins, sessions and files of bodies leave them alone.
package enum Descriptors {
  /// Of how many the last are kept, and how many those are at most.
  private static let share = 4
  private static let mostReserved = 512

  private static let known = Atomic<Int>(0)

  /// How many there may be.
  package static var limit: Int {
    let limit = known.load(ordering: .relaxed)
    return limit > 0 ? limit : remember(clinux_descriptor_limit())
  }

  /// Raises the limit as far as allowed; returns what it is now.
  package static func raiseLimit() -> Int { remember(clinux_raise_descriptor_limit()) }

  private static func remember(_ limit: UInt64) -> Int {
    let limit = Int(clamping: limit)
    known.store(limit, ordering: .relaxed)
    return limit
  }

  /// How many are kept of so many.
  package static func reserved(of limit: Int) -> Int { min(limit / share, mostReserved) }

  /// Gives a new descriptor back where it is one of the last: the kernel hands out the lowest that is free.
  /// - Returns: the same, or -1 with errno as it was or EMFILE.
  package static func yielding(_ descriptor: Int32) -> Int32 {
    guard descriptor >= limit - reserved(of: limit) else { return descriptor }
    Glibc.close(descriptor)
    errno = EMFILE
    return -1
  }

  /// Whether there are more than the last ones.
  package static var areLeft: Bool {
    let probe = yielding(eventfd(0, Int32(EFD_CLOEXEC)))
    guard probe >= 0 else { return false }
    Glibc.close(probe)
    return true
  }
}

internal import CLinux
internal import Glibc

/// Why bytes cannot be kept, or had.
package struct BlobError: Error, Sendable, Equatable, CustomStringConvertible {
  package enum Reason: Sendable, CaseIterable {
    /// No room is left where it is to be.
    case full
    /// A limit on the sum of them is reached.
    case overQuota
    /// There is none of that key, or none any more.
    case gone
    /// It is not as long, or not the same, as its writer says.
    case torn
    /// A later owner has it, or something else is in its place.
    case fencedOff
    /// The caller cancelled the call.
    case cancelled
    /// Anything else that stands against it.
    case refused
  }

  package let reason: Reason
  /// What was tried, and what the system says to it.
  package let message: String
  /// The system's (errno(3)); 0 where there is none.
  package let code: Int32
  package var description: String { message }

  package init(_ reason: Reason, _ message: String, code: Int32 = 0) {
    self.reason = reason
    self.message = message
    self.code = code
  }

  /// Less of the same may be taken.
  package var isFull: Bool { reason == .full || reason == .overQuota }

  static let cancelled = BlobError(.cancelled, "cancelled")

  /// - Parameter code: the system's.
  init(_ operation: String, _ code: Int32) {
    let reason: Reason =
      switch code {
      case ENOSPC: .full
      case EDQUOT: .overQuota
      case ENOENT: .gone
      case EEXIST: .fencedOff
      default: .refused
      }
    self.init(reason, "\(operation): \(String(cString: strerror(code)))", code: code)
  }

  /// Of the call that has just failed.
  static func last(_ operation: String) -> BlobError { BlobError(operation, errno) }
}

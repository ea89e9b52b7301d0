internal import CLinux
internal import Glibc

/// The reason why a call of a store failed.
package struct BlobError: Error, Sendable, Equatable, CustomStringConvertible {
  package enum Reason: Sendable, CaseIterable {
    /// The disk or the memory has no room left.
    case full
    /// A quota for all blobs together is reached.
    case overQuota
    /// No blob has that key, or no longer.
    case notFound
    /// The length or the content differs from what the writer states.
    case incomplete
    /// A later owner has the blob, or another blob is in its place.
    case fencedOff
    /// The caller cancelled the call.
    case cancelled
    /// Any other error.
    case refused
  }

  package let reason: Reason
  /// The failed operation, with the system's error text.
  package let message: String
  /// The system's error number (errno(3)); 0 if there is none.
  package let code: Int32
  package var description: String { message }

  package init(_ reason: Reason, _ message: String, code: Int32 = 0) {
    self.reason = reason
    self.message = message
    self.code = code
  }

  /// Whether a smaller blob might be stored.
  package var isFull: Bool { reason == .full || reason == .overQuota }

  static let cancelled = BlobError(.cancelled, "cancelled")

  /// Makes an error from the system's error number.
  init(_ operation: String, _ code: Int32) {
    let reason: Reason =
      switch code {
      case ENOSPC: .full
      case EDQUOT: .overQuota
      case ENOENT: .notFound
      case EEXIST: .fencedOff
      default: .refused
      }
    self.init(reason, "\(operation): \(String(cString: strerror(code)))", code: code)
  }

  /// Makes the error of the system call that has just failed.
  static func last(_ operation: String) -> BlobError { BlobError(operation, errno) }
}

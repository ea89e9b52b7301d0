internal import HTTPCache
internal import TransferModel

/// When a download can go on where another stopped (RFC 9110 §13.1.5 and §14, Apple's conditions for resume data).
enum ResumeRules {
  /// What a later request would name the version with: a strong ETag, else Last-Modified; nil where the download cannot
  /// go on: only a GET of something that has a version, comes in byte ranges and as it is.
  /// - Parameter asked: what a range was asked for with, where `head` answers that.
  static func validator(
    of head: ResponseHead, to request: TransferRequest, asked: String? = nil
  ) -> String? {
    guard request.method == "GET", request.body == nil, head.status == 200 || head.status == 206 else {
      return nil
    }
    let ranges = head.headers["Accept-Ranges"]?.lowercased()
    guard isPlain(head), head.status == 206 || ranges == "bytes" else { return nil }
    if let tag = head.headers["ETag"], tag.hasPrefix("\""), Validators.canBeSent(tag) { return tag }
    // An answer to If-Range need not repeat the date (RFC 9110 §15.3.7).
    return head.headers["Last-Modified"] ?? (head.status == 206 ? asked : nil)
  }

  private static func isPlain(_ head: ResponseHead) -> Bool {
    head.headers["Content-Encoding"].map { $0.lowercased() == "identity" } ?? true
  }

  /// What an answer to a request for a range is.
  enum Verdict: Equatable {
    /// The bytes from the wanted one on; the whole has `total` of them, -1 where that is not told.
    case goesOn(total: Int64)
    /// The resource from its start: it has changed.
    case whole
    /// Some other range, or none.
    case useless
    /// Not the resource: an error's page.
    case other
  }

  static func judge(_ head: ResponseHead, wanted offset: Int64, validator: String) -> Verdict {
    switch head.status {
    case 206:
      guard let range = contentRange(head.headers["Content-Range"]), range.first == offset, isPlain(head)
      else { return .useless }
      // A part of the rest would pass for all of it.
      guard range.total < 0 || range.last == range.total - 1 else { return .useless }
      // If-Range was heeded, or was not: another version's bytes must not be joined to ours.
      if validator.hasPrefix("\""), let tag = head.headers["ETag"], tag != validator { return .useless }
      if !validator.hasPrefix("\""), let date = head.headers["Last-Modified"], date != validator {
        return .useless
      }
      return .goesOn(total: range.total)
    case 200: return .whole
    case 416: return .useless
    default: return .other
    }
  }

  /// `bytes 5-9/10` (RFC 9110 §14.4).
  static func contentRange(_ field: String?) -> (first: Int64, last: Int64, total: Int64)? {
    guard let field, field.lowercased().hasPrefix("bytes ") else { return nil }
    let parts = field.dropFirst(6).trimmingBlanks.split(separator: "/")
    guard parts.count == 2, let dash = parts[0].firstIndex(of: "-"), let first = Int64(parts[0][..<dash]),
      let last = Int64(parts[0][parts[0].index(after: dash)...])
    else { return nil }
    guard parts[1] != "*" else { return (first, last, -1) }
    return Int64(parts[1]).map { (first, last, $0) }
  }
}

internal import HTTPFields
package import TransferModel

/// The value of a `Retry-After` field (RFC 9110 §10.2.3).
package enum RetryAfter {
  /// Seconds from now, which may be given as a number or as a date. Nil if the value is neither, zero or past: such a value names no time.
  package static func seconds(_ field: String, now: Timestamp) -> Double? {
    let text = field.trimmingBlanks
    let isNumber = !text.isEmpty && text.utf8.allSatisfy { 48...57 ~= $0 }
    let wait = isNumber ? Double(text) : HTTPDate.parse(text, now: now)?.since(now)
    return wait.flatMap { $0 > 0 ? $0 : nil }
  }
}

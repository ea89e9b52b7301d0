internal import HTTPFields
package import TransferModel

/// The value of a `Retry-After` field (RFC 9110 §10.2.3).
package enum RetryAfter {
  /// Returns the seconds from now, which the field has as a number or as a date. Returns `nil` if the value is neither, is zero, or is
  /// past.
  package static func seconds(_ field: String, now: Timestamp) -> Double? {
    let text = field.trimmingBlanks
    let isNumber = !text.isEmpty && text.utf8.allSatisfy { 48...57 ~= $0 }
    let wait = isNumber ? Double(text) : HTTPDate.parse(text, now: now)?.since(now)
    return wait.flatMap { $0 > 0 ? $0 : nil }
  }
}

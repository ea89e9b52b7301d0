internal import HTTPFields

/// A range of bytes of a representation (RFC 9110 §14).
package struct ByteRange: Sendable, Equatable {
  package var first: Int64
  /// The offset of the last byte, which belongs to the range.
  package var last: Int64
  /// The length of the whole representation; `nil` if unknown.
  package var total: Int64?

  package init(first: Int64, last: Int64, total: Int64?) {
    self.first = first
    self.last = last
    self.total = total
  }

  /// Parses a Content-Range field such as `bytes 5-9/10` (§14.4).
  package init?(contentRange field: String?) {
    guard let field, let rest = field.behind("bytes ") else { return nil }
    let parts = rest.parts(between: "/", maxSplits: 2, omittingEmpty: false)
    guard parts.count == 2 else { return nil }
    let ends = parts[0].parts(between: "-", maxSplits: 2, omittingEmpty: false)
    guard ends.count == 2, let first = Self.number(ends[0]), let last = Self.number(ends[1]), first <= last
    else { return nil }
    let total = Self.number(parts[1])
    guard total != nil || parts[1] == "*", total ?? .max > last else { return nil }
    self.init(first: first, last: last, total: total)
  }

  /// Returns the length in the Content-Range field of a 416 response, such as `bytes */10` (§14.4).
  package static func unsatisfiedTotal(contentRange field: String?) -> Int64? {
    field?.behind("bytes */").flatMap { number($0) }
  }

  package var count: Int64 { last - first + 1 }
  package var isWhole: Bool { first == 0 && last + 1 == total }
  package var contentRange: String { "bytes \(first)-\(last)/\(total.map { String($0) } ?? "*")" }

  /// The largest accepted offset or length. No sum of two such numbers overflows.
  static let maximum: Int64 = 1 << 61

  static func number(_ text: some StringProtocol) -> Int64? {
    guard !text.isEmpty, text.utf8.allSatisfy({ $0 &- UInt8(ascii: "0") < 10 }) else { return nil }
    return Int64(text).flatMap { $0 <= maximum ? $0 : nil }
  }
}

/// A Range field that requests one range of bytes (RFC 9110 §14.1.2).
package enum RangeRequest: Sendable, Equatable {
  case from(Int64)
  case between(Int64, Int64)
  case suffix(Int64)

  package enum Resolution: Equatable {
    case range(first: Int64, last: Int64)
    case unsatisfiable
    /// The length that the range depends on is unknown, or the representation is empty.
    case unknown
  }

  /// Parses a Range field.
  ///
  /// - Returns: `nil` for several ranges, other units or invalid text.
  package init?(_ field: String) {
    guard let ends = field.behind("bytes=")?.parts(between: "-", maxSplits: 2, omittingEmpty: false) else {
      return nil
    }
    guard ends.count == 2 else { return nil }
    switch (ByteRange.number(ends[0]), ByteRange.number(ends[1])) {
    case (let first?, let last?) where first <= last: self = .between(first, last)
    case (let first?, nil) where ends[1].isEmpty: self = .from(first)
    case (nil, let count?) where ends[0].isEmpty: self = .suffix(count)
    default: return nil
    }
  }

  package func resolve(total: Int64?) -> Resolution {
    guard let total else {
      if case .between(let first, let last) = self { return .range(first: first, last: last) }
      return .unknown
    }
    switch self {
    case .from(let first), .between(let first, _):
      guard first < total else { return .unsatisfiable }
      if case .between(_, let last) = self { return .range(first: first, last: min(last, total - 1)) }
      return .range(first: first, last: total - 1)
    case .suffix(0): return .unsatisfiable
    case .suffix(let count):
      return total == 0 ? .unknown : .range(first: max(0, total - count), last: total - 1)
    }
  }
}

extension String {
  /// Returns the text after an ASCII prefix, ignoring ASCII case; `nil` if the text does not begin with the prefix.
  fileprivate func behind(_ prefix: String) -> Substring? {
    let head = utf8.prefix(prefix.utf8.count)
    guard HTTPHeaders.equal(String(decoding: head, as: UTF8.self), prefix) else { return nil }
    return self[head.endIndex...]
  }
}

internal import HTTPFields

/// Bytes of a representation (RFC 9110 §14).
package struct ByteRange: Sendable, Equatable {
  package var first: Int64
  /// The last one is in it.
  package var last: Int64
  /// Of the whole; nil where it is not known.
  package var total: Int64?

  package init(first: Int64, last: Int64, total: Int64?) {
    self.first = first
    self.last = last
    self.total = total
  }

  /// `bytes 5-9/10` (§14.4).
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

  /// The length in the Content-Range of a 416: `bytes */10` (§14.4).
  package static func unsatisfiedTotal(contentRange field: String?) -> Int64? {
    field?.behind("bytes */").flatMap { number($0) }
  }

  package var count: Int64 { last - first + 1 }
  package var isWhole: Bool { first == 0 && last + 1 == total }
  package var contentRange: String { "bytes \(first)-\(last)/\(total.map { String($0) } ?? "*")" }

  /// So large that no sum of two offsets overflows.
  static let maximum: Int64 = 1 << 61

  static func number(_ text: some StringProtocol) -> Int64? {
    guard !text.isEmpty, text.utf8.allSatisfy({ $0 &- UInt8(ascii: "0") < 10 }) else { return nil }
    return Int64(text).flatMap { $0 <= maximum ? $0 : nil }
  }
}

/// What a Range field asks for, where that is one range of bytes (RFC 9110 §14.1.2).
package enum RangeRequest: Sendable, Equatable {
  case from(Int64)
  case between(Int64, Int64)
  case suffix(Int64)

  package enum Resolution: Equatable {
    case range(first: Int64, last: Int64)
    case unsatisfiable
    /// The length that it depends on is not known, or there is nothing that could be a range.
    case unknown
  }

  /// Nil for several ranges, other units, and what is no range at all.
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
  /// The text after an ASCII prefix of any case; nil if it does not begin with that prefix.
  fileprivate func behind(_ prefix: String) -> Substring? {
    let head = utf8.prefix(prefix.utf8.count)
    guard HTTPHeaders.equal(String(decoding: head, as: UTF8.self), prefix) else { return nil }
    return self[head.endIndex...]
  }
}

package import TransferModel

/// One of 256 parts of all sessions. A session's id determines its shard. The process that owns a shard decides about its sessions.
package struct Shard: Hashable, Sendable, Comparable {
  package static let count = 256

  package let number: UInt8

  package init(_ number: UInt8) { self.number = number }

  package static var all: [Shard] { (0..<UInt8.max).map { Shard($0) } + [Shard(.max)] }
  package static func < (left: Self, right: Self) -> Bool { left.number < right.number }
}

extension ID where Kind == SessionKind {
  /// The session's shard: the last byte of its id, which is random.
  package var shard: Shard { Shard(UInt8(truncatingIfNeeded: low)) }
}

extension ID {
  /// Returns the same id with another last byte.
  package func inShard(_ shard: Shard) -> Self { Self(high: high, low: low & ~0xFF | UInt64(shard.number)) }
}

/// A set of shards, with a bit for each.
package struct ShardSet: Hashable, Sendable {
  private var words: (UInt64, UInt64, UInt64, UInt64) = (0, 0, 0, 0)

  package init() {}
  package init(_ shards: some Sequence<Shard>) { for shard in shards { insert(shard) } }

  package static let all = ShardSet(Shard.all)

  package func contains(_ shard: Shard) -> Bool {
    self[word: shard] >> UInt64(shard.number & 63) & 1 == 1
  }
  package mutating func insert(_ shard: Shard) { self[word: shard] |= 1 << UInt64(shard.number & 63) }
  package mutating func remove(_ shard: Shard) { self[word: shard] &= ~(1 << UInt64(shard.number & 63)) }

  package var isEmpty: Bool { words == (0, 0, 0, 0) }
  package var count: Int {
    words.0.nonzeroBitCount + words.1.nonzeroBitCount + words.2.nonzeroBitCount + words.3.nonzeroBitCount
  }
  /// The shards in ascending order.
  package var shards: [Shard] { isEmpty ? [] : Shard.all.filter(contains) }

  package func subtracting(_ other: Self) -> Self { combined(other) { $0 & ~$1 } }
  package func union(_ other: Self) -> Self { combined(other) { $0 | $1 } }
  package func intersection(_ other: Self) -> Self { combined(other) { $0 & $1 } }

  /// Four hexadecimal words, lowest shards first. `init(text:)` parses them.
  package var text: String {
    [words.0, words.1, words.2, words.3].map { String($0, radix: 16) }.joined(separator: ",")
  }
  package init?(text: String) {
    let numbers = text.split(separator: ",").map { UInt64($0, radix: 16) }
    guard numbers.count == 4, let first = numbers[0], let second = numbers[1], let third = numbers[2],
      let fourth = numbers[3]
    else { return nil }
    words = (first, second, third, fourth)
  }

  package static func == (left: Self, right: Self) -> Bool { left.words == right.words }
  package func hash(into hasher: inout Hasher) {
    for word in [words.0, words.1, words.2, words.3] { hasher.combine(word) }
  }

  private func combined(_ other: Self, _ body: (UInt64, UInt64) -> UInt64) -> Self {
    var result = Self()
    result.words = (
      body(words.0, other.words.0), body(words.1, other.words.1), body(words.2, other.words.2),
      body(words.3, other.words.3)
    )
    return result
  }

  private subscript(word shard: Shard) -> UInt64 {
    get {
      switch shard.number >> 6 {
      case 0: words.0
      case 1: words.1
      case 2: words.2
      default: words.3
      }
    }
    set {
      switch shard.number >> 6 {
      case 0: words.0 = newValue
      case 1: words.1 = newValue
      case 2: words.2 = newValue
      default: words.3 = newValue
      }
    }
  }
}

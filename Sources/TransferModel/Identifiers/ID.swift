package import JSON

/// A kind of identified object, which determines the prefix of its ids.
package protocol IDKind: Sendable {
  static var prefix: String { get }
}

/// A typed identifier: a prefix and a UUIDv7 (RFC 9562 §5.7), `tsk_0192…`. Ids sort by the time of creation.
package struct ID<Kind: IDKind>: Hashable, Sendable, Comparable, JSONEncodable {
  package let high: UInt64
  package let low: UInt64

  package init(high: UInt64, low: UInt64) {
    self.high = high
    self.low = low
  }

  /// Creates a new id for the given time.
  package init(at time: Timestamp, random: (UInt64, UInt64)) {
    self.init(instant: UInt64(clamping: time.milliseconds) << 12 | random.0 & 0x0FFF, random: random.1)
  }

  /// - Parameter instant: milliseconds since 1970 and, in the low twelve bits, the order within the millisecond.
  package init(instant: UInt64, random: UInt64) {
    high = (instant >> 12 & 0xFFFF_FFFF_FFFF) << 16 | 0x7000 | instant & 0x0FFF
    low = 0x8000_0000_0000_0000 | random & 0x3FFF_FFFF_FFFF_FFFF
  }

  /// The time of creation in milliseconds since 1970; 0 for the shared session.
  package var milliseconds: Int64 { Int64(high >> 16) }

  package static func < (left: Self, right: Self) -> Bool {
    (left.high, left.low) < (right.high, right.low)
  }
}

extension ID: LosslessStringConvertible, CustomStringConvertible {
  /// Returns `nil` if the text is not the prefix and a UUID.
  package init?(_ text: String) {
    let utf8 = Array(text.utf8)
    let prefix = Array(Kind.prefix.utf8)
    guard utf8.starts(with: prefix) else { return nil }
    guard let value = Self.uuid(utf8[prefix.count...]), value != (0, 0) else {
      guard text == SessionID.sharedName, Kind.self == SessionKind.self else { return nil }
      self.init(high: 0, low: 0)
      return
    }
    self.init(high: value.0, low: value.1)
  }

  package var description: String {
    var text: [UInt8] = []
    text.reserveCapacity(40)
    append(to: &text)
    return String(decoding: text, as: UTF8.self)
  }

  /// Appends the text, which is ASCII.
  func append(to text: inout [UInt8]) {
    if high == 0, low == 0, Kind.self == SessionKind.self {
      return text.append(contentsOf: SessionID.sharedName.utf8)
    }
    text.append(contentsOf: Kind.prefix.utf8)
    // This code is fast because each event contains several ids.
    text.append(addingCapacity: 36) { text in
      func put(_ word: UInt64, from: Int, to: Int) {
        var shift = from
        while shift > to {
          shift -= 4
          text.append(hexDigit(UInt8(truncatingIfNeeded: word >> UInt64(shift) & 15)))
        }
      }
      put(high, from: 64, to: 32)
      text.append(UInt8(ascii: "-"))
      put(high, from: 32, to: 16)
      text.append(UInt8(ascii: "-"))
      put(high, from: 16, to: 0)
      text.append(UInt8(ascii: "-"))
      put(low, from: 64, to: 48)
      text.append(UInt8(ascii: "-"))
      put(low, from: 48, to: 0)
    }
  }

  /// Writes the id as clients see it. The shared session of each tenant has the same name.
  package func encode(into writer: inout JSONWriter) {
    let isShared = Kind.self == SessionKind.self && SessionID(high: high, low: low).isShared
    writer.text { isShared ? $0.append(contentsOf: SessionID.sharedName.utf8) : append(to: &$0) }
  }

  private static func uuid(_ utf8: ArraySlice<UInt8>) -> (UInt64, UInt64)? {
    guard utf8.count == 36 else { return nil }
    var words: (UInt64, UInt64) = (0, 0)
    var nibbles = 0
    for (offset, byte) in utf8.enumerated() {
      if [8, 13, 18, 23].contains(offset) {
        guard byte == UInt8(ascii: "-") else { return nil }
        continue
      }
      let digit: UInt8
      switch byte {
      case UInt8(ascii: "0")...UInt8(ascii: "9"): digit = byte - 48
      case UInt8(ascii: "a")...UInt8(ascii: "f"): digit = byte - 87
      default: return nil
      }
      if nibbles < 16 {
        words.0 = words.0 << 4 | UInt64(digit)
      } else {
        words.1 = words.1 << 4 | UInt64(digit)
      }
      nibbles += 1
    }
    return words
  }
}

extension ID {
  /// The sixteen bytes, most significant first. They sort in the order of the ids.
  package var bytes: [UInt8] {
    (0..<16).map { index in
      let word = index < 8 ? high : low
      return UInt8(truncatingIfNeeded: word >> UInt64(56 - (index & 7) * 8))
    }
  }

  package init?(bytes: [UInt8]) {
    guard bytes.count == 16 else { return nil }
    self.init(
      high: bytes[0..<8].reduce(0) { $0 << 8 | UInt64($1) },
      low: bytes[8..<16].reduce(0) { $0 << 8 | UInt64($1) })
  }
}

package enum SessionKind: IDKind { package static var prefix: String { "ses_" } }
package enum TaskIDKind: IDKind { package static var prefix: String { "tsk_" } }
package enum DeliveryKind: IDKind { package static var prefix: String { "whd_" } }
package enum DecisionKind: IDKind { package static var prefix: String { "dec_" } }
package enum FileKind: IDKind { package static var prefix: String { "fil_" } }
package enum EndpointKind: IDKind { package static var prefix: String { "whe_" } }
/// A destination of webhook messages: an endpoint, or a keyed hash of a URL. Clients never see it.
package enum DestinationKind: IDKind { package static var prefix: String { "dst_" } }

package typealias SessionID = ID<SessionKind>
package typealias TaskID = ID<TaskIDKind>
package typealias DeliveryID = ID<DeliveryKind>
package typealias DecisionID = ID<DecisionKind>
package typealias FileID = ID<FileKind>
package typealias EndpointID = ID<EndpointKind>
package typealias DestinationID = ID<DestinationKind>

extension ID where Kind == SessionKind {
  /// The session that always exists (URLSession.shared). From a client, it is that of the client's tenant; in the ledger, that of
  /// `default`.
  package static var shared: Self { Self(high: 0, low: 0) }

  /// The name of a tenant's shared session for clients.
  package static var sharedName: String { "ses_shared" }

  /// Creates the id of another tenant's shared session: a UUIDv8 (RFC 9562 §5.8) with a timestamp of zero.
  /// - Parameter digest: a digest of the tenant's name.
  package init(sharedBy digest: (UInt64, UInt64)) {
    self.init(high: 0x8000 | digest.0 & 0x0FFF, low: 0x8000_0000_0000_0000 | digest.1 & 0x3FFF_FFFF_FFFF_FFFF)
  }

  /// Whether the session is the shared session of some tenant.
  package var isShared: Bool { self == .shared || high >> 12 == 8 }
}

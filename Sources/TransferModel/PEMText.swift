internal import JSON
internal import Limits

extension ObjectReader {
  /// A member that holds certificates in PEM (RFC 7468): its size is looked at before anything is made of it.
  /// - Parameter most: how many there may be.
  mutating func certificates(_ name: String, upTo most: Limit, bytes: Int = .max) -> String? {
    guard let text = string(name, upTo: bytes) else { return nil }
    let sizes = PEMText.sizes(text)
    guard sizes.count <= most.value else {
      exceed(name, "must have at most \(most.value) certificates, not \(sizes.count)")
      return nil
    }
    guard sizes.allSatisfy({ $0 <= Limits.certificateBytes.value }) else {
      exceed(name, "must have at most \(Limits.certificateBytes.value) bytes in each certificate")
      return nil
    }
    return text
  }
}

/// Text in PEM.
enum PEMText {
  /// Bytes from one beginning to the next, and to the end.
  static func sizes(_ text: String) -> [Int] {
    let (bytes, begin) = (text.utf8, Array("-----BEGIN ".utf8))
    var starts: [Int] = []
    var matched = 0
    for (offset, byte) in bytes.enumerated() {
      // The text repeats nothing of itself but hyphens.
      matched = byte == begin[matched] ? matched + 1 : byte == begin[0] ? (matched == 5 ? 5 : 1) : 0
      if matched == begin.count {
        starts.append(offset + 1 - begin.count)
        matched = 0
      }
    }
    return zip(starts, starts.dropFirst() + [bytes.count]).map { $1 - $0 }
  }
}

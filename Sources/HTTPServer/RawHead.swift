internal import CMicroHTTPD

/// A request's head as libmicrohttpd leaves it in its memory: the bytes in their places, and zeros for the ends of names,
/// values and lines.
///
/// The parser of libmicrohttpd 0.9 takes lines that end in LF alone, lines that go on on the next, and zero bytes. What stands
/// between its parts tells of all of them.
struct RawHead {
  /// Where libmicrohttpd found a field.
  struct Place {
    let name: UnsafeRawPointer
    let nameCount: Int
    let value: UnsafeRawPointer
    let valueCount: Int
  }
  private static let versionCount = 8  // HTTP/1.1
  private let start: UnsafeRawPointer
  private let count: Int

  /// - Parameter method: where the request line begins.
  init(_ connection: OpaquePointer, method: UnsafePointer<CChar>) {
    start = UnsafeRawPointer(method)
    count = cmhd_head_size(connection)
  }

  /// Bytes of request line and fields.
  var size: Int { count }

  /// What a strict parser would have refused; nil: nothing.
  func fault(
    methodCount: Int, target: UnsafePointer<CChar>, version: UnsafePointer<CChar>, fields: [Place]
  ) -> String? {
    guard UnsafeRawPointer(target) - start == methodCount + 1 else { return "malformed request line" }
    var place = UnsafeRawPointer(version) - start + Self.versionCount
    guard endsLine(at: place) else { return "the request line does not end in CRLF" }
    place += 2
    for field in fields {
      guard field.name - start == place, field.nameCount > 0 else { return "malformed field line" }
      let value = field.value - start
      let colon = place + field.nameCount
      guard value > colon, value - colon <= count, isBlank(colon + 1..<value) else {
        return "malformed field line"
      }
      place = value + field.valueCount
      guard endsLine(at: place) else { return "a field line does not end in CRLF" }
      place += 2
    }
    return endsLine(at: place) && place + 2 == count ? nil : "the head does not end in an empty line"
  }

  /// Both bytes of a CRLF were replaced.
  private func endsLine(at place: Int) -> Bool {
    place >= 0 && place + 2 <= count
      && start.load(fromByteOffset: place, as: UInt8.self) == 0
      && start.load(fromByteOffset: place + 1, as: UInt8.self) == 0
  }

  private func isBlank(_ range: Range<Int>) -> Bool {
    guard range.lowerBound >= 0, range.upperBound <= count else { return false }
    return range.allSatisfy { index in
      let byte = start.load(fromByteOffset: index, as: UInt8.self)
      return byte == 0x20 || byte == 0x09
    }
  }
}

internal import CMicroHTTPD

/// A request's head in libmicrohttpd's memory: the original bytes, with zeros at the ends of names, values and lines.
///
/// The parser of libmicrohttpd 0.9 accepts lines that end in a bare LF, folded lines and zero bytes. The bytes between the parts of a
/// head reveal all of these.
struct RawHead {
  /// The position of a field that libmicrohttpd found.
  struct FieldLocation {
    let name: UnsafeRawPointer
    let nameCount: Int
    let value: UnsafeRawPointer
    let valueCount: Int
  }
  private static let versionCount = 8  // HTTP/1.1
  private let start: UnsafeRawPointer
  private let count: Int

  /// Locates a head.
  /// - Parameter method: the start of the request line.
  init(_ connection: OpaquePointer, method: UnsafePointer<CChar>) {
    start = UnsafeRawPointer(method)
    count = cmhd_head_size(connection)
  }

  /// The bytes of the request line and the fields.
  var size: Int { count }

  /// Returns the fault that a strict parser would report; `nil` if the head is valid.
  func fault(
    methodCount: Int, target: UnsafePointer<CChar>, version: UnsafePointer<CChar>, fields: [FieldLocation]
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

  /// Whether both bytes of a CRLF were replaced by zeros.
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

internal import Limits

/// Undoes the codings of a message's content (RFC 9110 §8.4), piece by piece: it takes no more bytes than the room for
/// what becomes of them allows, so that neither memory nor time depends on how far they expand.
package final class ContentDecoder {
  package enum Fault: Error, Equatable, Sendable {
    case malformed
    case outOfMemory
  }

  /// What is known, as an `Accept-Encoding` field says it.
  package static let accepted = "gzip, deflate, br, zstd"
  /// Codings on top of each other.
  package static let maximumCodings = Limits.contentCodings.value
  private static let bufferSize = 16 * 1024

  /// What comes from the wire goes into the first.
  private let coders: [any Decoder]
  /// What each coder but the first has to take yet.
  private var waiting: [ArraySlice<UInt8>]

  private enum Coding {
    case gzip, deflate, brotli, zstandard
  }

  /// Those that are to be undone, in the order in which they were applied: none where one of them is not known, or where there are
  /// more than anybody needs.
  private static func known(in codings: [String]) -> [Coding] {
    guard codings.count <= maximumCodings else { return [] }
    var known: [Coding] = []
    for name in codings {
      switch name {
      case "gzip", "x-gzip": known.append(.gzip)
      case "deflate": known.append(.deflate)
      case "br": known.append(.brotli)
      case "zstd": known.append(.zstandard)
      default: return []
      }
    }
    return known
  }

  /// Whether there is something to decode in content with these codings.
  package static func decodes(_ codings: [String]) -> Bool { !known(in: codings).isEmpty }

  /// - Parameter codings: in the order in which they were applied, in lower case. Nil where `decodes` is false for them.
  package init?(codings: [String]) throws(Fault) {
    var coders: [any Decoder] = []
    for coding in Self.known(in: codings) {
      switch coding {
      case .gzip: coders.append(try ZlibDecoder(.gzip))
      case .deflate: coders.append(try ZlibDecoder(.deflate))
      case .brotli: coders.append(try BrotliDecoder())
      case .zstandard: coders.append(try ZstandardDecoder())
      }
    }
    guard !coders.isEmpty else { return nil }
    self.coders = coders.reversed()
    waiting = Array(repeating: [], count: coders.count)
  }

  /// Whether the bytes so far are whole.
  package var isComplete: Bool { coders.allSatisfy(\.isComplete) && waiting.allSatisfy(\.isEmpty) }

  /// Decodes until `output` is full or `input` is used up, and drops what it took from `input`.
  /// - Returns: the bytes that it wrote; 0: it wants more input.
  package func decode(
    _ input: inout UnsafeRawBufferPointer, into output: UnsafeMutableRawBufferPointer
  ) throws(Fault) -> Int {
    try pull(coders.count - 1, &input, into: output)
  }

  private func pull(
    _ index: Int, _ input: inout UnsafeRawBufferPointer, into output: UnsafeMutableRawBufferPointer
  ) throws(Fault) -> Int {
    guard index > 0 else { return try coders[0].decode(&input, into: output) }
    while true {
      let count = try takeWaiting(index, into: output)
      if count > 0 { return count }
      guard try refill(index, &input) else { return 0 }
    }
  }

  private func takeWaiting(_ index: Int, into output: UnsafeMutableRawBufferPointer) throws(Fault) -> Int {
    let bytes = waiting[index]
    let (count, left) = try bytes.withRawBytes { (buffer) throws(Fault) in
      var rest = buffer
      let count = try coders[index].decode(&rest, into: output)
      return (count, rest.count)
    }
    waiting[index] = bytes.suffix(left)
    return count
  }

  /// Whether there is more for a coder from the one before.
  private func refill(_ index: Int, _ input: inout UnsafeRawBufferPointer) throws(Fault) -> Bool {
    var buffer = [UInt8](repeating: 0, count: Self.bufferSize)
    let count = try buffer.withRawBytes { (room) throws(Fault) in try pull(index - 1, &input, into: room) }
    waiting[index] = buffer[..<count]
    return count > 0
  }
}

/// Undoes one coding.
protocol Decoder: AnyObject {
  /// Whether what it was given so far is whole.
  var isComplete: Bool { get }
  /// Drops what it took from `input`; returns the bytes that it wrote, which are none only where all of `input` is taken.
  func decode(
    _ input: inout UnsafeRawBufferPointer, into output: UnsafeMutableRawBufferPointer
  ) throws(ContentDecoder.Fault) -> Int
}

// The standard library's own rethrow no typed error.
extension ArraySlice<UInt8> {
  fileprivate func withRawBytes<T>(
    _ body: (UnsafeRawBufferPointer) throws(ContentDecoder.Fault) -> T
  ) throws(ContentDecoder.Fault) -> T {
    let result = withUnsafeBytes { buffer in
      Result { () throws(ContentDecoder.Fault) in try body(buffer) }
    }
    return try result.get()
  }
}

extension [UInt8] {
  fileprivate mutating func withRawBytes<T>(
    _ body: (UnsafeMutableRawBufferPointer) throws(ContentDecoder.Fault) -> T
  ) throws(ContentDecoder.Fault) -> T {
    let result = withUnsafeMutableBytes { buffer in
      Result { () throws(ContentDecoder.Fault) in try body(buffer) }
    }
    return try result.get()
  }
}

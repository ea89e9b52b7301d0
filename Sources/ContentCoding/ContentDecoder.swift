internal import Limits

/// A decoder of a message's content codings (RFC 9110 §8.4). It takes only as many bytes as the output has room for, so neither memory nor
/// time depends on how far the content expands.
package final class ContentDecoder {
  package enum Fault: Error, Equatable, Sendable {
    case malformed
    case outOfMemory
  }

  /// The supported codings, as the value of an `Accept-Encoding` field.
  package static let accepted = "gzip, deflate, br, zstd"
  /// The maximum number of codings on top of each other.
  package static let maximumCodings = Limits.contentCodings.value
  private static let bufferSize = 16 * 1024

  /// The first coder receives the coded bytes.
  private let coders: [any Decoder]
  /// The bytes that each coder except the first must still take.
  private var waiting: [ArraySlice<UInt8>]

  private enum Coding {
    case gzip, deflate, brotli, zstandard
  }

  /// Returns the codings to decode, in the order in which they were applied; empty if one is unknown or there are too many.
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

  /// Returns whether content with these codings must be decoded.
  package static func decodes(_ codings: [String]) -> Bool { !known(in: codings).isEmpty }

  /// Returns `nil` if `decodes` is `false` for the codings.
  /// - Parameter codings: The codings in the order in which they were applied, in lower case.
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

  /// Whether the content so far is complete.
  package var isComplete: Bool { coders.allSatisfy(\.isComplete) && waiting.allSatisfy(\.isEmpty) }

  /// Decodes until `output` is full or `input` is used up, and removes the used bytes from `input`.
  /// - Returns: The number of bytes written; 0 if more input is needed.
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

  /// Fetches bytes for a coder from the one before. Returns whether there were any.
  private func refill(_ index: Int, _ input: inout UnsafeRawBufferPointer) throws(Fault) -> Bool {
    var buffer = [UInt8](repeating: 0, count: Self.bufferSize)
    let count = try buffer.withRawBytes { (room) throws(Fault) in try pull(index - 1, &input, into: room) }
    waiting[index] = buffer[..<count]
    return count > 0
  }
}

/// A decoder of one coding.
protocol Decoder: AnyObject {
  /// Whether the content so far is complete.
  var isComplete: Bool { get }
  /// Removes the used bytes from `input` and returns the number of bytes written. That number is 0 only if all of `input` was used.
  func decode(
    _ input: inout UnsafeRawBufferPointer, into output: UnsafeMutableRawBufferPointer
  ) throws(ContentDecoder.Fault) -> Int
}

// The standard library's own methods do not rethrow typed errors.
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

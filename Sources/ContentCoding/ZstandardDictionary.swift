internal import CCompression
internal import Synchronization

/// A Zstandard dictionary (RFC 8878 §5) that compresses small messages by what they have in common with it.
package final class ZstandardDictionary: Sendable {
  /// The reason why a message cannot be decompressed.
  package enum Fault: Error, Sendable {
    /// The bytes were not compressed with this dictionary, or are damaged.
    case malformed
  }
  private struct Contexts: ~Copyable {
    let compression, decompression: OpaquePointer
    let digested, undigested: OpaquePointer

    deinit {
      ZSTD_freeCCtx(compression)
      ZSTD_freeDCtx(decompression)
      ZSTD_freeCDict(digested)
      ZSTD_freeDDict(undigested)
    }
  }
  /// With a suitable dictionary, the next level takes twice the time to save a tenth, and the fastest level is hardly faster.
  private static let level: Int32 = 3
  private let state: Mutex<Contexts>

  /// - Parameter content: Typical content of messages, the most likely last. The tables of a dictionary may precede it.
  package init(_ content: [UInt8]) {
    // The content is copied.
    guard let compression = ZSTD_createCCtx(), let decompression = ZSTD_createDCtx(),
      let digested = ZSTD_createCDict(content, content.count, Self.level),
      let undigested = ZSTD_createDDict(content, content.count)
    else { preconditionFailure("no memory for a dictionary") }
    state = Mutex(
      Contexts(
        compression: compression, decompression: decompression, digested: digested, undigested: undigested))
  }

  /// Returns the message as one frame; `nil` if that would not be shorter than the message.
  package func compress(_ message: [UInt8]) -> [UInt8]? {
    guard message.count > 1 else { return nil }
    let frame = state.withLock { state in
      [UInt8](unsafeUninitializedCapacity: message.count - 1) { frame, count in
        let size = ZSTD_compress_usingCDict(
          state.compression, frame.baseAddress, frame.count, message, message.count, state.digested)
        count = ZSTD_isError(size) == 0 ? size : 0
      }
    }
    return frame.isEmpty ? nil : frame
  }

  /// - Parameter maximum: The maximum size of the message in bytes.
  package func decompress(_ frame: [UInt8], maximum: Int) throws(Fault) -> [UInt8] {
    let size = ZSTD_getFrameContentSize(frame, frame.count)
    guard size > 0, size <= UInt64(maximum) else { throw .malformed }
    let message = state.withLock { state in
      [UInt8](unsafeUninitializedCapacity: Int(size)) { message, count in
        let written = ZSTD_decompress_usingDDict(
          state.decompression, message.baseAddress, Int(size), frame, frame.count, state.undigested)
        count = ZSTD_isError(written) == 0 ? written : 0
      }
    }
    guard message.count == Int(size) else { throw .malformed }
    return message
  }
}

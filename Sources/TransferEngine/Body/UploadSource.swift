internal import BlobStore
internal import Curl
internal import EngineAPI
internal import EventLoop
internal import TransferModel

/// The source of a request body's bytes. Read on the loop's thread.
protocol UploadSource: AnyObject {
  /// The number of bytes; `nil` if unknown before the end.
  var length: Int64? { get }
  func read(into buffer: UnsafeMutableRawBufferPointer) -> UploadDisposition
  /// Restarts from the first byte. Returns `false` if the bytes are no longer available.
  func rewind() -> Bool
  /// Records that all bytes were written to the origin's socket.
  func markSent()
  /// Ends reading.
  func cancel()
}

extension UploadSource {
  func markSent() {}
  func cancel() {}
}

/// A body in memory.
final class DataUploadSource: UploadSource {
  private let bytes: [UInt8]
  private var offset = 0

  init(_ bytes: [UInt8]) { self.bytes = bytes }

  var length: Int64? { Int64(bytes.count) }

  func read(into buffer: UnsafeMutableRawBufferPointer) -> UploadDisposition {
    let count = min(buffer.count, bytes.count - offset)
    guard count > 0 else { return .end }
    buffer.copyBytes(from: bytes[offset..<offset + count])
    offset += count
    return .bytes(count)
  }

  func rewind() -> Bool {
    offset = 0
    return true
  }
}

/// A stored file, or a part of it. The pool reads bytes that are not in memory while libcurl is paused.
final class FileUploadSource: UploadSource {
  private let reader: PrefetchingReader
  private let range: Range<Int64>
  /// Called from any thread when there is more to read.
  private let ready: @Sendable () -> Void
  private var offset: Int64

  init(
    _ reader: any BlobReader, range: Range<Int64>, pool: ThreadPool, ready: @escaping @Sendable () -> Void
  ) {
    self.reader = PrefetchingReader(reader, on: pool)
    self.range = range
    offset = range.lowerBound
    self.ready = ready
  }

  var length: Int64? { Int64(range.count) }

  func read(into buffer: UnsafeMutableRawBufferPointer) -> UploadDisposition {
    guard offset < range.upperBound else { return .end }
    let room = UnsafeMutableRawBufferPointer(
      rebasing: buffer.prefix(Int(clamping: range.upperBound - offset)))
    switch reader.read(at: offset, into: room, upTo: range.upperBound, ready) {
    case .bytes(let count):
      offset += Int64(count)
      return .bytes(count)
    case .notCached: return .paused
    case .end, .failed: return .failed
    }
  }

  func rewind() -> Bool {
    offset = range.lowerBound
    return true
  }

  func cancel() { reader.close() }
}

/// A body streamed by the client.
extension UploadStream: UploadSource {
  func read(into buffer: UnsafeMutableRawBufferPointer) -> UploadDisposition {
    switch pull(into: buffer) {
    case .bytes(let count): .bytes(count)
    case .wait: .paused
    case .end: .end
    case .failed: .failed
    }
  }

  /// Returns `false`: only the client could send the bytes again.
  func rewind() -> Bool { false }
}

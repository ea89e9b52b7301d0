internal import BlobStore
internal import Curl
internal import EngineAPI
internal import EventLoop
internal import TransferModel

/// Where the bytes of a request's body come from. Read on the loop's thread.
protocol UploadSource: AnyObject {
  /// Bytes; nil where that is not known before the end.
  var length: Int64? { get }
  func read(into buffer: UnsafeMutableRawBufferPointer) -> UploadDisposition
  /// Starts anew; false where the bytes are gone.
  func rewind() -> Bool
  /// All of it has reached the origin's socket.
  func wasSent()
  /// Nobody reads it any more.
  func detach()
}

extension UploadSource {
  func wasSent() {}
  func detach() {}
}

/// A body that came with the request.
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

/// A stored file, or a part of it. What is not in memory is fetched by the pool while libcurl is paused.
final class FileUploadSource: UploadSource {
  private let reader: PrefetchingReader
  private let range: Range<Int64>
  /// Called from any thread when there is more to read.
  private let ready: @Sendable () -> Void
  private var offset: Int64

  init(
    _ reader: any BlobReader, range: Range<Int64>, pool: WorkerPool, ready: @escaping @Sendable () -> Void
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

  func detach() { reader.close() }
}

/// A body streamed by the client.
extension UploadStream: UploadSource {
  func read(into buffer: UnsafeMutableRawBufferPointer) -> UploadDisposition {
    switch take(into: buffer) {
    case .bytes(let count): .bytes(count)
    case .wait: .paused
    case .end: .end
    case .failed: .failed
    }
  }

  /// The bytes that went are gone: only the client can send them again.
  func rewind() -> Bool { false }
}

internal import BlobStore
internal import EngineAPI
internal import EventLoop
internal import Synchronization

/// The bytes of a body at the reader's own pace. Reading never blocks on a disk.
package final class BodyStream: Sendable {
  package enum Chunk: Sendable {
    case bytes([UInt8])
    /// No bytes now. `onReadable` is called later.
    case wait
    case end
    /// The remaining bytes are lost.
    case failed
  }
  private enum Source {
    case file(PrefetchingReader, end: Int64)
    /// The body of a running data task. The file is opened when the body grows into one.
    case live(LiveBody, PrefetchingReader?, place: UInt64)
  }
  private struct State {
    var source: Source
    var offset: Int64
    var onReadable: (@Sendable () -> Void)?
  }

  private let pool: ThreadPool
  private let state: Mutex<State>

  /// Streams a range of a finished body.
  init(_ reader: any BlobReader, range: Range<Int64>, pool: ThreadPool) {
    self.pool = pool
    let source = Source.file(PrefetchingReader(reader, on: pool), end: range.upperBound)
    state = Mutex(State(source: source, offset: range.lowerBound))
  }

  /// Streams an arriving body from its first byte. Until `close()`, the origin waits if this reader is slow.
  init(_ live: LiveBody, pool: ThreadPool) {
    self.pool = pool
    state = Mutex(State(source: .live(live, nil, place: live.join()), offset: 0))
  }

  /// Calls `onReadable` when `read` may have more bytes. Called from any thread.
  package func start(onReadable: @escaping @Sendable () -> Void) {
    let live: LiveBody? = state.withLock { state in
      state.onReadable = onReadable
      if case .live(let live, _, _) = state.source { return live }
      return nil
    }
    live?.observe(onReadable)
  }

  /// Returns the next bytes, at most `maximum`, and none at or beyond the offset `limit`.
  package func read(maximum: Int, upTo limit: Int64 = .max) -> Chunk {
    let (chunk, progress) = state.withLock { state -> (Chunk, (LiveBody, UInt64, Int64)?) in
      let room = Int(clamping: min(Int64(maximum), limit - state.offset))
      guard room > 0 else { return (.wait, nil) }
      switch state.source {
      case .file(let reader, let end):
        return (state.offset < end ? read(reader, upTo: end, room, &state) : .end, nil)
      case .live(let live, let reader, let place):
        let chunk = read(live, reader, place, room, &state)
        return (chunk, (live, place, state.offset))
      }
    }
    if case .bytes = chunk, let (live, place, offset) = progress { live.advance(place, to: offset) }
    return chunk
  }

  /// The number of bytes read so far.
  package var offset: Int64 { state.withLock { $0.offset } }

  /// Ends the stream. The origin no longer waits for it.
  package func close() {
    let source = state.withLock { state in
      state.onReadable = nil
      return state.source
    }
    switch source {
    case .file(let reader, _): reader.close()
    case .live(let live, let reader, let place):
      live.leave(place)
      reader?.close()
    }
  }

  private func read(
    _ live: LiveBody, _ reader: PrefetchingReader?, _ place: UInt64, _ maximum: Int, _ state: inout State
  ) -> Chunk {
    // Read before the bytes: if the body has ended, all its bytes are here or on their way to the file.
    let ending = live.ending
    switch live.source {
    case .memory(let bytes):
      let start = Int(state.offset)
      guard start < bytes.count else { return Self.chunk(at: ending) }
      let chunk = Array(bytes[start..<min(bytes.count, start + maximum)])
      state.offset += Int64(chunk.count)
      return .bytes(chunk)
    case .file(let file):
      let (written, isAll) = file.readable
      // A failed transfer ends before its last bytes are written. `onReadable` follows when they are.
      guard state.offset < written else { return isAll ? Self.chunk(at: ending) : .wait }
      let opened = reader ?? file.reader().map { PrefetchingReader($0, on: pool) }
      guard let reader = opened else { return .failed }
      state.source = .live(live, reader, place: place)
      return read(reader, upTo: written, maximum, &state)
    }
  }

  private func read(
    _ reader: PrefetchingReader, upTo end: Int64, _ maximum: Int, _ state: inout State
  ) -> Chunk {
    let count = Int(min(end - state.offset, Int64(maximum)))
    switch reader.read(at: state.offset, maximum: count, upTo: end, state.onReadable) {
    case .bytes(let bytes):
      state.offset += Int64(bytes.count)
      return .bytes(bytes)
    case .notCached: return .wait
    case .end, .failed: return .failed
    }
  }

  private static func chunk(at ending: LiveBody.End?) -> Chunk {
    switch ending {
    case nil: .wait
    case .finished: .end
    case .failed: .failed
    }
  }
}

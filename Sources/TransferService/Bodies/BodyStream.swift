internal import BlobStore
internal import EngineAPI
internal import EventLoop
internal import Synchronization

/// The bytes of a body, read at the reader's own pace and never by waiting for a disk.
package final class BodyStream: Sendable {
  package enum Chunk: Sendable {
    case bytes([UInt8])
    /// Nothing now: `onNews` will be called.
    case wait
    case end
    /// The rest cannot be had.
    case failed
  }
  private enum Source {
    case file(PrefetchingReader, end: Int64)
    /// A data task under way; the file is opened when its body grows into one.
    case live(LiveBody, PrefetchingReader?, place: UInt64)
  }
  private struct State {
    var source: Source
    var offset: Int64
    var onNews: (@Sendable () -> Void)?
  }

  private let pool: WorkerPool
  private let state: Mutex<State>

  /// A range of a finished body.
  init(_ reader: any BlobReader, range: Range<Int64>, pool: WorkerPool) {
    self.pool = pool
    let source = Source.file(PrefetchingReader(reader, on: pool), end: range.upperBound)
    state = Mutex(State(source: source, offset: range.lowerBound))
  }

  /// A body that is arriving, from its first byte on. Until `close()` the origin waits where this reader falls behind.
  init(_ live: LiveBody, pool: WorkerPool) {
    self.pool = pool
    state = Mutex(State(source: .live(live, nil, place: live.join()), offset: 0))
  }

  /// Calls `onNews` whenever `read` may have more. From any thread.
  package func start(onNews: @escaping @Sendable () -> Void) {
    let live: LiveBody? = state.withLock { state in
      state.onNews = onNews
      if case .live(let live, _, _) = state.source { return live }
      return nil
    }
    live?.observe(onNews)
  }

  /// The next bytes, at most `maximum`, and none from `limit` on.
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

  /// Bytes read so far.
  package var offset: Int64 { state.withLock { $0.offset } }

  /// The reader leaves: the origin waits for it no longer.
  package func close() {
    let source = state.withLock { state in
      state.onNews = nil
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
    // Asked first: what came before the end is then here, or on its way to the file.
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
      // A transfer that failed has ended before its last bytes are written: `onNews` comes when they are.
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
    switch reader.read(at: state.offset, maximum: count, upTo: end, state.onNews) {
    case .bytes(let bytes):
      state.offset += Int64(bytes.count)
      return .bytes(bytes)
    case .notCached: return .wait
    case .end, .failed: return .failed
    }
  }

  private static func chunk(at ending: LiveBody.Ending?) -> Chunk {
    switch ending {
    case nil: .wait
    case .finished: .end
    case .failed: .failed
    }
  }
}

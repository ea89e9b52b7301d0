internal import TransferModel

/// The state machine of a `BlobWriter`, which decides which call of the store comes next. Only one call is in flight, except for a discard
/// that cancels it. The state is a value, protected by the writer's lock.
struct BlobWriterState {
  typealias Action = @Sendable () -> Void

  enum Call {
    case digestStart, open, write, commit, delete
  }
  enum Answer {
    case opened(any BlobDraft)
    case done
    case failed(BlobError)
  }
  enum NextCall {
    /// There is nothing to do, or a result is pending.
    case wait
    case digestStart
    case open
    case write([UInt8], to: any BlobDraft, at: Int64, isDigested: Bool)
    case commit(any BlobDraft, as: BlobKey, size: Int64)
    case delete((any BlobDraft)?)
    /// Run a client's callback and then the observers.
    case notify(Action?)
  }
  /// The discard of a draft that cancels a write or commit in flight.
  private enum Cancellation {
    case asked, answered
  }

  /// The chunks to be written; those before `first` are empty.
  private var chunks: [[UInt8]] = []
  private var first = 0
  /// The chunk of the write in flight.
  private var chunk: [UInt8] = []
  /// The bytes of the chunks that are not written yet.
  private(set) var waiting = 0
  private(set) var written: Int64 = 0
  private var isStartDigested = true
  private(set) var draft: (any BlobDraft)?
  private(set) var failure: BlobError?
  /// The digest of all bytes, set before the commit.
  var sha256 = ""
  /// The scan that digests the earlier bytes of a resumed draft.
  var scan: BlobScan?
  /// The memory of written chunks, for reuse. The kernel would clear new memory page by page.
  private var spare: [[UInt8]] = []
  private(set) var observers: [Action] = []

  /// Whether a thread performs steps, or a pending result will start one.
  private var isBusy = false
  private var call: Call?
  /// Whether the call has returned and its result is pending.
  private var isAway = false
  private var answer: Answer?

  private(set) var isDiscarded = false
  /// Whether waiting chunks are still written after a discard.
  private var writesOn = false
  private var cancellation: Cancellation?
  /// Whether the draft is committed or deleted.
  private var isOver = false
  private var whenDeleted: Action?
  private var finish: (key: BlobKey, done: @Sendable (BlobWriter.Finished) -> Void)?
  private var whenWritten: (@Sendable (BlobError?) -> Void)?
  private var whenDrained: Action?

  /// Makes the state of a new or resumed draft.
  /// - Parameter start: the bytes of the draft that are still to be digested.
  init(behind start: Int64 = 0) {
    written = start
    isStartDigested = start == 0
  }

  /// Makes the state of a complete draft.
  init(_ draft: any BlobDraft, size: Int64) { (self.draft, written) = (draft, size) }

  var isDrained: Bool { waiting <= BlobWriter.lowWater || failure != nil || isDiscarded && !writesOn }

  // MARK: Requests

  /// Marks the state as busy.
  /// - Returns: whether the caller must start a thread for the steps.
  mutating func claim() -> Bool {
    defer { isBusy = true }
    return !isBusy
  }

  mutating func append(_ bytes: [UInt8]) {
    chunks.append(bytes)
    waiting += bytes.count
  }

  mutating func takeSpare() -> [UInt8]? { spare.popLast() }
  mutating func observe(_ observer: @escaping Action) { observers.append(observer) }

  /// Stores `action` for the time when the state is drained.
  /// - Returns: `true` if it is drained already; then `action` is not stored.
  mutating func notifyWhenDrained(_ action: @escaping Action) -> Bool {
    if !isDrained { whenDrained = action }
    return isDrained
  }

  mutating func notifyWhenWritten(_ done: @escaping @Sendable (BlobError?) -> Void) { whenWritten = done }

  mutating func finish(as key: BlobKey, _ done: @escaping @Sendable (BlobWriter.Finished) -> Void) {
    finish = (key, done)
  }

  /// Discards the draft.
  /// - Returns: the draft whose write or commit is in flight. The caller must discard it and then call `cancelled`.
  mutating func discard(keepsForReaders: Bool, _ done: @escaping Action) -> (any BlobDraft)? {
    let earlier = whenDeleted
    whenDeleted = {
      earlier?()
      done()
    }
    (isDiscarded, writesOn, whenDrained) = (true, keepsForReaders, nil)
    if !writesOn { dropChunks() }
    guard !writesOn, cancellation == nil, call == .write || call == .commit else { return nil }
    cancellation = .asked
    return draft
  }

  /// Records that the discard has completed.
  /// - Returns: whether the caller must start a thread for further steps.
  mutating func cancelled() -> Bool {
    if call == .delete { return answered(.done) }
    cancellation = .answered
    return false
  }

  private mutating func dropChunks() {
    (chunks, first, waiting) = ([], 0, 0)
  }

  // MARK: Steps

  /// Records the result of a call.
  /// - Returns: whether the caller must start a thread for further steps.
  mutating func answered(_ answer: Answer) -> Bool {
    self.answer = answer
    defer { isAway = false }
    return isAway
  }

  mutating func next() -> NextCall {
    if let call {
      guard let answer else {
        isAway = true
        return .wait
      }
      (self.call, self.answer) = (nil, nil)
      if let news = settle(call, answer) { return news }
    }
    let mayWrite = !isOver && failure == nil && (!isDiscarded || writesOn)
    if !mayWrite {
      dropChunks()
    } else if !isStartDigested {
      return begin(.digestStart, .digestStart)
    } else if first < chunks.count {
      guard let draft else { return begin(.open, .open) }
      if first == BlobWriter.spareChunks { dropTaken() }
      swap(&chunk, &chunks[first])
      first += 1
      return begin(.write, .write(chunk, to: draft, at: written, isDigested: !isDiscarded))
    }
    dropTaken()
    return end()
  }

  private mutating func dropTaken() {
    chunks.removeFirst(first)
    first = 0
  }

  private mutating func begin(_ call: Call, _ step: NextCall) -> NextCall {
    self.call = call
    return step
  }

  /// Returns the step after the last waiting chunk.
  private mutating func end() -> NextCall {
    if let done = whenWritten {
      whenWritten = nil
      return .notify { [failure] in done(failure) }
    }
    if !isOver, isDiscarded || failure != nil && finish != nil {
      if isDiscarded, cancellation == .asked {
        (call, isAway) = (.delete, true)
        return .wait
      }
      guard cancellation == .answered else { return begin(.delete, .delete(draft)) }
      isOver = true
    }
    if isOver, finish != nil || whenDeleted != nil {
      // The key is free only after the discard in flight has completed.
      if cancellation == .asked {
        (call, isAway) = (.delete, true)
        return .wait
      }
      return .notify(takeEnding())
    }
    if let finish {
      guard let draft else { return begin(.open, .open) }
      return begin(.commit, .commit(draft, as: finish.key, size: written))
    }
    isBusy = false
    return .wait
  }

  /// Applies a result, and returns the step that runs its callbacks; `nil` if there are none.
  private mutating func settle(_ call: Call, _ answer: Answer) -> NextCall? {
    switch (call, answer) {
    case (.digestStart, _): (scan, isStartDigested) = (nil, true)
    case (.open, .opened(let draft)): self.draft = draft
    case (.write, _): recycle(isWritten: { if case .done = answer { true } else { false } }())
    case (.commit, .done):
      isOver = true
      let (done, size, sha256) = (finish?.done, written, sha256)
      finish = nil
      return .notify { done?(.success((size, sha256))) }
    case (.delete, _):
      (isOver, cancellation) = (true, nil)
      return .notify(takeEnding())
    default: break
    }
    if case .failed(let error) = answer {
      failure = cancellation == nil ? error : .cancelled
      dropChunks()
    } else if call != .write {
      return nil
    }
    guard isDrained else { return observers.isEmpty ? nil : .notify(nil) }
    defer { whenDrained = nil }
    return whenDrained == nil && observers.isEmpty ? nil : .notify(whenDrained)
  }

  /// Keeps the chunk's memory for further chunks.
  private mutating func recycle(isWritten: Bool) {
    var old: [UInt8] = []
    swap(&old, &chunk)
    if isWritten { written += Int64(old.count) }
    waiting = max(0, waiting - old.count)
    old.removeAll(keepingCapacity: true)
    if old.capacity >= BlobWriter.chunkSize, spare.count < BlobWriter.spareChunks { spare.append(old) }
  }

  private mutating func takeEnding() -> Action {
    // The deleted file uses disk space while it is open, and the disk may be full.
    if failure != nil { draft = nil }
    let (finish, deleted, failure) = (finish, whenDeleted, failure)
    (self.finish, whenDeleted) = (nil, nil)
    return {
      finish?.done(.failure(failure ?? .cancelled))
      deleted?()
    }
  }
}

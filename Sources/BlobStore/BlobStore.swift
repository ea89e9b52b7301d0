package import TransferModel

/// The completion of a call. It is called exactly once.
package typealias BlobDone<Value> = @Sendable (Result<Value, BlobError>) -> Void

/// Where bodies are kept, under keys that say whose they are and who wrote them.
///
/// A blob is written as a draft, and is there for readers once it is committed, whole and for good: what dies in between leaves a draft.
/// Two owners never use the same key, so they need not know of each other.
///
/// Threads: call a store from a thread that may wait for a local disk, or from a completion of the same store. A fast store does its work
/// on the caller's thread and calls `done` before it returns. A slow store returns at once and calls `done` later, from a thread of its
/// own. Callers must be correct for both.
package protocol BlobStore: AnyObject, Sendable {
  /// What is here outlives the process.
  var isDurable: Bool { get }
  /// The store, if its blobs are files of this machine; otherwise nil.
  var local: (any LocalBlobs)? { get }
  /// Nil if the store cannot set blobs aside.
  var quarantine: (any BlobQuarantine)? { get }
  /// The memory that rows share with the store; nil if there is no such limit.
  var room: (any BlobRoom)? { get }

  /// An empty draft, in place of what the same writer had begun under that key.
  func create(_ key: BlobKey, _ done: @escaping BlobDone<any BlobDraft>)
  /// Goes on behind the first `offset` bytes of a draft; what is behind them goes.
  func reopen(_ key: BlobKey, at offset: Int64, _ done: @escaping BlobDone<any BlobDraft>)

  /// What reads a blob, whole or in part, or a draft as far as it has come. It can be read to its end whatever becomes of the key.
  func open(_ key: BlobKey, _ done: @escaping BlobDone<any BlobReader>)
  /// Bytes; `gone` if there is none.
  func size(of key: BlobKey, _ done: @escaping BlobDone<Int64>)

  /// Gives the same bytes a second key, which the store may do by a copy. The first key stays. A durable store does not replace a blob
  /// under the second key: the call then fails with `fencedOff`.
  func alias(_ key: BlobKey, as other: BlobKey, _ done: @escaping BlobDone<Void>)
  /// Makes what an earlier attempt left another's draft: whoever comes first has it. An earlier owner that still has it open
  /// does not reach what becomes of it.
  /// - Parameter size: where there are fewer bytes, it is left where it is (`torn`).
  func take(_ key: BlobKey, as draft: BlobKey, size: Int64, _ done: @escaping BlobDone<Void>)
  /// Renames a blob and replaces any blob under the new key; `gone` if there is nothing under `key`. A store that cannot rename copies and
  /// then deletes: if the process dies in between, both blobs remain.
  func move(_ key: BlobKey, to other: BlobKey, _ done: @escaping BlobDone<Void>)
  /// What is not there is no fault.
  func delete(_ key: BlobKey, _ done: @escaping BlobDone<Void>)
  /// Lists all keys of a shelf, in no order.
  /// - Parameter page: called with some of the keys, one call at a time, each before `done`.
  func list(
    _ shelf: BlobShelf, _ page: @escaping @Sendable ([BlobKey]) -> Void, _ done: @escaping BlobDone<Void>)
}

/// What kind of blobs is listed.
package enum BlobShelf: Sendable, CaseIterable {
  case tasks, files
}

/// A blob that is being written. Its writer's alone.
package protocol BlobDraft: AnyObject, Sendable {
  /// Writes bytes. Make one call at a time; each starts where the previous one ended.
  func write(_ bytes: [UInt8], at offset: Int64, _ done: @escaping BlobDone<Void>)
  /// A reader of the draft while it is being written; nil if the store has none. Never waits. The reader can read all bytes written so
  /// far also after the draft was committed or discarded.
  func reader() -> (any BlobReader)?
  /// From here on it is there under `key`, on the disk where the store is durable. It never takes the place of another owner's.
  /// - Parameters:
  ///   - size: bytes that were written; where they are not all there, nothing is committed (`torn`).
  ///   - sha256: of these, in lower-case hexadecimal. A store may hold the bytes to it.
  func commit(as key: BlobKey, size: Int64, sha256: String, _ done: @escaping BlobDone<Void>)
  /// Deletes the draft unless it is committed, and cancels a write or commit in flight: that fails with `cancelled` or has completed
  /// first. Call it once, from any thread.
  /// - Parameter done: called when the draft is deleted. A call in flight may complete after it.
  func discard(_ done: @escaping @Sendable () -> Void)
}

/// A store whose blobs are files of this machine. These calls wait for the disk.
package protocol LocalBlobs: BlobStore {
  /// A complete draft: a second name of a file that no longer changes.
  func adopt(_ file: LocalFile, as key: BlobKey, size: Int64) throws(BlobError) -> any BlobDraft
  /// The file that holds the blob.
  func localFile(of key: BlobKey) -> LocalFile
}

/// A store that can quarantine unknown blobs, so that an operator can restore them.
package protocol BlobQuarantine: AnyObject, Sendable {
  func setAside(_ key: BlobKey, at time: Timestamp, _ done: @escaping BlobDone<Void>)
  /// Deletes blobs whose time in quarantine has expired, and returns their number.
  func removeSetAside(at now: Timestamp, _ done: @escaping BlobDone<Int>)
}

/// A memory limit that a store shares with data that is kept elsewhere.
package protocol BlobRoom: AnyObject, Sendable {
  /// Reserves memory for bytes that are kept elsewhere; false if there is not enough. Never waits.
  func reserve(_ size: Int, as key: BlobKey) -> Bool
}

/// A file of this machine, handed from one room that wraps the disk to another.
package struct LocalFile: Sendable {
  package let path: String
  package init(path: String) { self.path = path }
}

extension BlobStore {
  package var isDurable: Bool { true }
  package var local: (any LocalBlobs)? { nil }
  package var quarantine: (any BlobQuarantine)? { nil }
  package var room: (any BlobRoom)? { nil }
}

extension BlobKey {
  /// Only its writer puts something there, and may do so again. What is left to go on from a successor may have put there.
  package var isNobodyElses: Bool { part != .partial || stamp.epoch == 0 }

  /// Why one who writes under `draft` may not have this; nil where it may. What another task has left is for whoever was given it, by
  /// whichever process that task was carried out.
  package func refusal(to draft: BlobKey) -> BlobError? {
    guard task == draft.task, draft.stamp.epoch > 0, stamp.epoch > draft.stamp.epoch else { return nil }
    return BlobError(.fencedOff, "\(self) is a later owner's than \(draft)")
  }
}

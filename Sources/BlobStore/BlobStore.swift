package import TransferModel

/// The completion of a call. The store calls it exactly once.
package typealias BlobCompletion<Value> = @Sendable (Result<Value, BlobError>) -> Void

/// A store for bodies and files. A blob's key names its task or file, and the stamp of its writer.
///
/// A writer writes a draft and commits it. Readers see a blob only after the commit, complete and unchanging. If the writer's process
/// dies, a draft remains. Two owners never use the same key, so they need no coordination.
///
/// Threads: call a store from a thread that may wait for a local disk, or from a completion of the same store. A fast store does its work
/// on the caller's thread and calls `done` before it returns. A slow store returns at once and calls `done` later, from a thread of its
/// own. Callers must be correct for both.
package protocol BlobStore: AnyObject, Sendable {
  /// Whether the blobs survive the process.
  var isDurable: Bool { get }
  /// The store, if its blobs are files of this machine; otherwise `nil`.
  var local: (any LocalBlobs)? { get }
  /// The quarantine; `nil` if the store has none.
  var quarantine: (any BlobQuarantine)? { get }
  /// The memory limit that rows share with the store; `nil` if there is no such limit.
  var memoryQuota: (any MemoryQuota)? { get }

  /// Creates an empty draft. It replaces an earlier draft of the same writer under that key.
  func create(_ key: BlobKey, _ done: @escaping BlobCompletion<any BlobDraft>)
  /// Continues a draft after its first `offset` bytes, and deletes the bytes after them.
  func reopen(_ key: BlobKey, at offset: Int64, _ done: @escaping BlobCompletion<any BlobDraft>)

  /// Opens a reader of a blob, or of a draft as far as it is written. The reader stays valid after the key is deleted.
  func open(_ key: BlobKey, _ done: @escaping BlobCompletion<any BlobReader>)
  /// Returns the size of a blob in bytes; `gone` if the blob does not exist.
  func size(of key: BlobKey, _ done: @escaping BlobCompletion<Int64>)

  /// Gives the same bytes a second key; the store may copy them. The first key stays. A durable store does not replace a blob under the
  /// second key: the call then fails with `fencedOff`.
  func alias(_ key: BlobKey, as other: BlobKey, _ done: @escaping BlobCompletion<Void>)
  /// Turns the partial blob of an earlier attempt into a draft. Only the first caller succeeds. An earlier owner that still has the blob
  /// open cannot change the draft.
  /// - Parameter size: the minimum size in bytes. A shorter blob stays unchanged (`torn`).
  func claim(_ key: BlobKey, as draft: BlobKey, size: Int64, _ done: @escaping BlobCompletion<Void>)
  /// Renames a blob and replaces any blob under the new key; `gone` if there is nothing under `key`. A store that cannot rename copies
  /// and then deletes. If the process dies in between, both blobs remain.
  func move(_ key: BlobKey, to other: BlobKey, _ done: @escaping BlobCompletion<Void>)
  /// Deletes a blob. A missing blob is no error.
  func delete(_ key: BlobKey, _ done: @escaping BlobCompletion<Void>)
  /// Lists all keys of a category, in no order.
  /// - Parameter page: called with some of the keys, one call at a time, each before `done`.
  func list(
    _ shelf: BlobCategory, _ page: @escaping @Sendable ([BlobKey]) -> Void,
    _ done: @escaping BlobCompletion<Void>)
}

/// The kind of blobs to list: of tasks, or stored files.
package enum BlobCategory: Sendable, CaseIterable {
  case tasks, files
}

/// A blob that is being written. It belongs to its writer alone.
package protocol BlobDraft: AnyObject, Sendable {
  /// Writes bytes. Make one call at a time. Each write must start at the end of the previous one.
  func write(_ bytes: [UInt8], at offset: Int64, _ done: @escaping BlobCompletion<Void>)
  /// Returns a reader of the draft while it is being written; `nil` if the store has none. Never waits. The reader can still read all
  /// bytes written so far after the draft was committed or discarded.
  func reader() -> (any BlobReader)?
  /// Commits the draft under `key`; in a durable store the blob is then on disk. A commit never replaces another owner's blob.
  /// - Parameters:
  ///   - size: the number of written bytes. If the draft has a different size, the commit fails (`torn`).
  ///   - sha256: the digest of the bytes in lower-case hexadecimal. A store may verify it.
  func commit(as key: BlobKey, size: Int64, sha256: String, _ done: @escaping BlobCompletion<Void>)
  /// Deletes the draft unless it is committed, and cancels a write or commit in flight. That call fails with `cancelled` unless it has
  /// just completed. Call this function once, from any thread.
  /// - Parameter done: called when the draft is deleted. A call in flight may complete after it.
  func discard(_ done: @escaping @Sendable () -> Void)
}

/// A store whose blobs are files of this machine. These calls wait for the disk.
package protocol LocalBlobs: BlobStore {
  /// Makes a complete draft that is a second name of a file. The file must no longer change.
  func adopt(_ file: LocalFile, as key: BlobKey, size: Int64) throws(BlobError) -> any BlobDraft
  /// Returns the blob's file.
  func localFile(of key: BlobKey) -> LocalFile
}

/// A store that can quarantine unknown blobs, so that an operator can restore them.
package protocol BlobQuarantine: AnyObject, Sendable {
  func moveToQuarantine(_ key: BlobKey, at time: Timestamp, _ done: @escaping BlobCompletion<Void>)
  /// Deletes blobs whose time in quarantine has expired, and returns their number.
  func removeExpired(at now: Timestamp, _ done: @escaping BlobCompletion<Int>)
}

/// A memory limit that a store shares with data that is kept elsewhere.
package protocol MemoryQuota: AnyObject, Sendable {
  /// Reserves memory for bytes that are kept elsewhere; `false` if there is not enough. Never waits.
  func reserve(_ size: Int, as key: BlobKey) -> Bool
}

/// A file of this machine.
package struct LocalFile: Sendable {
  package let path: String
  package init(path: String) { self.path = path }
}

extension BlobStore {
  package var isDurable: Bool { true }
  package var local: (any LocalBlobs)? { nil }
  package var quarantine: (any BlobQuarantine)? { nil }
  package var memoryQuota: (any MemoryQuota)? { nil }
}

extension BlobKey {
  /// Whether only one writer uses this key, so that a rename may replace the blob. Only a partial blob may be a successor's.
  package var isWriterExclusive: Bool { part != .partial || stamp.epoch == 0 }

  /// Returns the error if the writer of `draft` must not claim this blob; `nil` if it may. The blob of a later epoch is refused if it
  /// belongs to the same task. Epochs of different tasks are not compared.
  package func claimError(to draft: BlobKey) -> BlobError? {
    guard task == draft.task, draft.stamp.epoch > 0, stamp.epoch > draft.stamp.epoch else { return nil }
    return BlobError(.fencedOff, "\(self) belongs to a later owner than \(draft)")
  }
}

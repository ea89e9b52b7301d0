package import TransferModel

/// Where bodies are kept, under keys that say whose they are and who wrote them.
///
/// A blob is written as a draft, and is there for readers once it is committed, whole and for good: what dies in between leaves a draft.
/// Nobody's key is another's, so that owners need not know of each other. All of it may wait for a disk: it is for a pool's threads.
package protocol BlobStore: AnyObject, Sendable {
  /// What is here outlives the process.
  var isDurable: Bool { get }
  /// Blobs are files of this machine, which can have further names.
  var hasLocalFiles: Bool { get }

  /// An empty draft, in place of what the same writer had begun under that key.
  func create(_ key: BlobKey) throws(BlobError) -> any BlobDraft
  /// Goes on behind the first `offset` bytes of a draft; what is behind them goes.
  func reopen(_ key: BlobKey, at offset: Int64) throws(BlobError) -> any BlobDraft
  /// A draft that is whole: a second name of a file that nobody changes.
  func adopt(_ file: LocalFile, as key: BlobKey, size: Int64) throws(BlobError) -> any BlobDraft

  /// What reads a blob, whole or in part, or a draft as far as it has come. It can be read to its end whatever becomes of the key.
  func open(_ key: BlobKey) throws(BlobError) -> BlobReader
  /// Bytes; nil where there is none.
  func size(of key: BlobKey) -> Int64?
  /// The file that it is; nil where it is none, or not of this machine.
  func localFile(of key: BlobKey) -> LocalFile?

  /// A second key for the same bytes; both stay.
  func alias(_ key: BlobKey, as other: BlobKey) throws(BlobError)
  /// Makes what an earlier attempt left another's draft: whoever comes first has it. An earlier owner that still has it open
  /// does not reach what becomes of it.
  /// - Parameter size: where there are fewer bytes, it is left where it is (`torn`).
  func take(_ key: BlobKey, as draft: BlobKey, size: Int64) throws(BlobError)
  /// Another key for it, in place of what is under that. False where there is none.
  @discardableResult
  func move(_ key: BlobKey, to other: BlobKey) -> Bool
  /// What is not there is no fault.
  func delete(_ key: BlobKey)
  /// All that is here, in no order.
  func list(_ shelf: BlobShelf) -> [BlobKey]

  /// Takes room for bytes that are kept elsewhere; false where there is none.
  func reserve(_ size: Int, as key: BlobKey) -> Bool

  /// Takes away what nobody knows of, for a while in which it can be put back by hand. False where that cannot be.
  func setAside(_ key: BlobKey, at time: Timestamp) -> Bool
  /// Removes for good what was set aside long ago; returns how many.
  func removeSetAside(at now: Timestamp) -> Int
}

/// What kind of blobs is listed.
package enum BlobShelf: Sendable, CaseIterable {
  case tasks, files
}

/// A blob that is being written. Its writer's alone.
package protocol BlobDraft: Sendable {
  /// Writes the chunks one behind the other.
  func write(_ chunks: [[UInt8]], at offset: Int64) throws(BlobError)
  /// Reads along; nil where that cannot be.
  func reader() -> BlobReader?
  /// From here on it is there under `key`, on the disk where the store is durable. It never takes the place of another owner's.
  /// - Parameters:
  ///   - size: bytes that were written; where they are not all there, nothing is committed (`torn`).
  ///   - sha256: of these, in lower-case hexadecimal. A store may hold the bytes to it.
  func commit(as key: BlobKey, size: Int64, sha256: String) throws(BlobError)
  func discard()
}

/// A file of this machine, handed from one room that wraps the disk to another.
package struct LocalFile: Sendable {
  package let path: String
  package init(path: String) { self.path = path }
}

extension BlobStore {
  package var isDurable: Bool { true }
  package var hasLocalFiles: Bool { false }
  package func adopt(_ file: LocalFile, as key: BlobKey, size: Int64) throws(BlobError) -> any BlobDraft {
    throw BlobError(.refused, "no file is adopted here")
  }
  package func localFile(of key: BlobKey) -> LocalFile? { nil }
  package func reserve(_ size: Int, as key: BlobKey) -> Bool { true }
  package func setAside(_ key: BlobKey, at time: Timestamp) -> Bool { false }
  package func removeSetAside(at now: Timestamp) -> Int { 0 }
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

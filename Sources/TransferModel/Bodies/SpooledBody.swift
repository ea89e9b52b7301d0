/// A large request body in a file of its own. The file is encrypted, and the task's row has its key. The row and the file are deleted
/// together, and a new service key requires no new file.
package struct SpooledBody: Sendable, Hashable {
  /// The size in bytes, unencrypted.
  package let size: Int64
  /// The stamp in the file's name.
  package let blob: BlobStamp
  /// The key of this file alone, 32 bytes.
  package let key: [UInt8]

  package init(size: Int64, blob: BlobStamp, key: [UInt8]) {
    self.size = size
    self.blob = blob
    self.key = key
  }

  package func blobKey(of task: TaskID) -> BlobKey { BlobKey(task, .request, blob) }
}

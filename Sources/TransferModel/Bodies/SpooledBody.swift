/// The body of a request in a file of its own, because it is large. The file is encrypted; its key is in the task's row, so that both
/// end together and a new service key needs no new file.
package struct SpooledBody: Sendable, Hashable {
  /// Bytes in clear.
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

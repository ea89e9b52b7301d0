package import EventLoop
package import TransferModel

/// The files at the destinations of downloads, which belong to the clients.
///
/// A file is written under a temporary name in the directory of its destination. Then it is renamed. Each call completes once, and may
/// complete before it returns. Call it from a thread that may wait for a disk, or from a completion of a blob store.
package protocol DestinationStore: AnyObject, Sendable {
  /// The directories that contain all destinations.
  var directories: DestinationDirectories { get }

  /// Returns why a download could not become the file; `nil` if it probably can.
  func fault(of destination: Destination) -> DestinationFailure?
  /// Writes a temporary file, or finds the file that an earlier service has renamed.
  /// - Parameters:
  ///   - earlier: the mark of the earlier service's temporary file.
  ///   - pool: threads that may wait for a disk.
  ///   - isCancelled: called now and then; true stops the call with `cancelled`.
  func prepare(
    _ file: DestinationFile, from source: DestinationSource, earlier: FileMark?, on pool: ThreadPool,
    isCancelled: @escaping @Sendable () -> Bool,
    _ done: @escaping @Sendable (Result<PreparedFile, DestinationFailure>) -> Void)
  /// Gives the temporary file its final name. Returns the file, also if it has the name already.
  func rename(_ file: DestinationFile, _ mark: FileMark) -> Result<PlacedFile, DestinationFailure>
  /// Deletes the temporary file.
  func discard(_ file: DestinationFile)
  /// Deletes the temporary files of dead processes.
  /// - Parameter isLiving: whether a process with an epoch is alive.
  func removeLeftovers(isLiving: (Int64) -> Bool)
  /// Opens a file; `nil` if it is no longer as it was placed.
  func open(_ file: PlacedFile, of tenant: Tenant) -> (any BlobReader)?
}

/// A download's file on its way to its destination.
package struct DestinationFile: Sendable, Equatable {
  package let task: TaskID
  /// The epoch of the process that writes the temporary file.
  package let epoch: Int64
  package let tenant: Tenant
  package let destination: Destination
  package let size: Int64

  package init(task: TaskID, epoch: Int64, tenant: Tenant, destination: Destination, size: Int64) {
    self.task = task
    self.epoch = epoch
    self.tenant = tenant
    self.destination = destination
    self.size = size
  }

  /// The hidden name under which the file is written.
  package var temporaryName: String { ".\(task).\(epoch).ferry" }
}

/// The source of a file's bytes.
package enum DestinationSource: Sendable {
  case bytes([UInt8])
  /// A file of this machine that no longer changes. On the same file system it gets a second name.
  case local(LocalFile)
  case reader(any BlobReader)
}

package enum PreparedFile: Sendable, Equatable {
  case temporary(FileMark)
  /// The file has its final name already.
  case placed(PlacedFile)
}

extension TransferError {
  /// - Parameter url: the URL of the request; `nil` if the caller adds it.
  package init(_ failure: DestinationFailure, url: String? = nil) {
    self.init(.destinationFailed, failure.message, failingURL: url)
    if failure.code != 0 { underlying = Underlying(library: "posix", code: Int(failure.code)) }
  }
}

/// The reason why a download did not become a file, with the remedy.
package struct DestinationFailure: Error, Sendable, Equatable {
  package let message: String
  /// The system's error number (errno(3)); 0 if there is none.
  package let code: Int32

  package init(_ message: String, code: Int32 = 0) {
    self.message = message
    self.code = code
  }
}

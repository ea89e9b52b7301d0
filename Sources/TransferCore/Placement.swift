package import TransferModel

/// A step with the file of a download's destination, which the service executes.
package enum PlacementStep: Sendable, Equatable {
  /// Write the body to a temporary file in the directory of the destination.
  indirect case prepare(PlacementOrder)
  /// Give the temporary file its final name. The commit of its mark has succeeded.
  indirect case rename(PlacementOrder, FileMark)
  /// Stop writing the temporary file. `PlacementReport.failed` follows.
  case cancel(TaskID)
  /// Delete the temporary file of a task that has ended without it.
  indirect case discard(PlacementOrder)

  package var task: TaskID {
    switch self {
    case .prepare(let order), .rename(let order, _), .discard(let order): order.task
    case .cancel(let task): task
    }
  }
}

/// A body and its destination.
package struct PlacementOrder: Sendable, Equatable {
  package let task: TaskID
  package let tenant: Tenant
  package let destination: Destination
  package let body: TransferOutcome.Body
  /// The blob, if the body is a file.
  package let key: BlobKey
  package let size: Int64
  /// The mark of an earlier temporary file, which may have its final name already.
  package let earlier: FileMark?
}

/// The result of a `PlacementStep`.
package enum PlacementReport: Sendable {
  case prepared(FileMark)
  case placed(PlacedFile)
  case failed(TransferError)
}

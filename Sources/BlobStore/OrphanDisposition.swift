package import TransferModel

/// The treatment of a task's blob that no running task uses.
package enum OrphanDisposition: Sendable, Equatable {
  case keep
  /// Delete the blob: the database has the task and does not refer to the blob.
  case remove
  /// Quarantine the blob: the database does not have the task, or may be older than the blob.
  case quarantine

  /// Decides about a blob.
  /// - Parameters:
  ///   - key: the key of a task's blob.
  ///   - known: the task in the database; `nil` if there is none.
  package init(_ key: BlobKey, of known: TransferTask?) {
    guard let known else {
      self = .quarantine
      return
    }
    guard known.state == .completed else {
      self = .keep
      return
    }
    switch key.part {
    case .draft: self = .remove
    // The body can be sent again until the row is deleted.
    case .request: self = known.requestBodyKeys.contains(key) ? .keep : .remove
    case .partial: self = known.partialKey == key ? .keep : .remove
    // After a success without a body in the row, the body was pruned or moved to a file. A failed task never had a body, so this blob
    // may come from a later state of the database.
    case .body where known.body == nil: self = known.error == nil ? .remove : .quarantine
    case .body: self = known.bodyKey == key ? .keep : .remove
    }
  }
}

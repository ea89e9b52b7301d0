package import TransferModel

/// What is to become of a blob that no task under way has. Pure.
package enum Leftover: Sendable, Equatable {
  case keep
  /// The store knows the task, and that nobody wants this of it.
  case remove
  /// The store does not know of it. It may be that it knew once, or that another database does.
  case setAside

  /// - Parameters:
  ///   - key: of a task's blob.
  ///   - known: the task, as the store has it; nil where it has none.
  package init(_ key: BlobKey, of known: TransferTask?) {
    guard let known else {
      self = .setAside
      return
    }
    guard known.state == .completed else {
      self = .keep
      return
    }
    switch key.part {
    case .draft: self = .remove
    // It can be sent again until the row goes.
    case .request: self = known.requestBodyKeys.contains(key) ? .keep : .remove
    case .partial: self = known.partialKey == key ? .keep : .remove
    // A task without error has given its body up. One with an error never had it: a later state of the database may have.
    case .body where known.body == nil: self = known.error == nil ? .remove : .setAside
    case .body: self = known.bodyKey == key ? .keep : .remove
    }
  }
}

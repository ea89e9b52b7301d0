package import TransferModel

/// A file of a task in the directory of bodies, and what is to become of it where the task is not under way. Pure.
package struct Leftover: Sendable, Hashable {
  package enum Kind: String, CaseIterable, Sendable {
    case body = ""
    case temporary = ".part"
    case partial = ".resume"
  }
  package enum Verdict: Sendable, Equatable {
    case keep
    /// The store knows the task, and that nobody wants this of it.
    case remove
    /// The store does not know of it. It may be that it knew once, or that another database does.
    case setAside
  }

  package let task: TaskID
  package let kind: Kind
  package var name: String { "\(task)\(kind.rawValue)" }

  package init(_ task: TaskID, _ kind: Kind) {
    self.task = task
    self.kind = kind
  }

  /// Nil for what is no task's.
  package init?(name: String) {
    guard let kind = Kind.allCases.last(where: { name.hasSuffix($0.rawValue) }),
      let task = TaskID(String(name.dropLast(kind.rawValue.count)))
    else { return nil }
    self.init(task, kind)
  }

  /// - Parameter known: the task, as the store has it; nil where it has none.
  package func verdict(_ known: TransferTask?) -> Verdict {
    guard let known else { return .setAside }
    guard known.state == .completed else { return .keep }
    return switch kind {
    case .temporary: .remove
    case .partial: known.partial == nil ? .remove : .keep
    // A task without error has given its body up. One with an error never had it: a later state of the database may have.
    case .body: known.body != nil ? .keep : known.error == nil ? .remove : .setAside
    }
  }
}

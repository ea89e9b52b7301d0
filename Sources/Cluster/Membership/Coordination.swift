/// Which of the processes that share a ledger live, and a bell for each of them.
package protocol Coordination: Sendable {
  /// Where others reach this process. It is said to live there from before it takes part until it ends.
  var address: String { get }

  /// For how long this process may rely on what it has seen last of who owns what: others take nothing from it before. nil: for ever.
  var lease: Duration? { get }

  /// Whether the process of an address lives, and has said so within its lease. One that stands still does not.
  func isAlive(at address: String) -> Bool

  /// Ends processes that do not live and yet are there, whether they take part or not: one that has stood still in the middle of something
  /// keeps others from the ledger. It would end by itself if it went on.
  /// - Returns: whether there are others.
  @discardableResult func endTheFrozen() -> Bool

  /// Tells a process that there is something to look at.
  func ring(at address: String)
}

extension Coordination {
  package var lease: Duration? { nil }
  package func endTheFrozen() -> Bool { false }
}

/// No other process lives.
package struct Solitude: Coordination {
  package init() {}
  package var address: String { "" }
  package func isAlive(at address: String) -> Bool { false }
  package func ring(at address: String) {}
}

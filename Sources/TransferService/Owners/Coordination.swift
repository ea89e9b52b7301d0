/// Which of the processes that share a ledger live, and a bell for each of them.
package protocol Coordination: Sendable {
  /// Where others reach this process. It is said to live there from before it takes part until it ends.
  var address: String { get }

  /// For how long this process may rely on what it has seen last of who owns what: others take nothing from it before. nil: for ever.
  var lease: Duration? { get }

  /// Whether the process of an address lives, and has said so within its lease. One that stands still does not.
  func isAlive(at address: String) -> Bool

  /// Tells a process that there is something to look at.
  func ring(at address: String)
}

extension Coordination {
  package var lease: Duration? { nil }
}

/// No other process lives.
package struct Solitude: Coordination {
  package init() {}
  package var address: String { "" }
  package func isAlive(at address: String) -> Bool { false }
  package func ring(at address: String) {}
}

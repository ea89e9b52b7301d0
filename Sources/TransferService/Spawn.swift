/// How something is done beside everything else. A task of its own knows nothing of whoever began it, and so of no executor: a
/// world that has one for all gives it here.
package struct Spawn: Sendable {
  private let begin: @Sendable (@escaping @Sendable () async -> Void) -> Void

  /// As tasks, wherever Swift runs them.
  package init() { begin = { work in Task { await work() } } }

  package init(_ begin: @escaping @Sendable (@escaping @Sendable () async -> Void) -> Void) {
    self.begin = begin
  }

  func callAsFunction(_ work: @escaping @Sendable () async -> Void) { begin(work) }
}

/// Starts detached tasks. An unstructured Swift task inherits no task executor, so the simulation supplies its own way to start
/// one.
package struct TaskSpawner: Sendable {
  private let begin: @Sendable (@escaping @Sendable () async -> Void) -> Void

  /// Starts tasks on Swift's global executor.
  package init() { begin = { work in Task { await work() } } }

  package init(_ begin: @escaping @Sendable (@escaping @Sendable () async -> Void) -> Void) {
    self.begin = begin
  }

  package func callAsFunction(_ work: @escaping @Sendable () async -> Void) { begin(work) }
}

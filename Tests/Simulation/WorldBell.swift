internal import TransferService

/// A bell that whoever listens looks at in his turn. For one thread.
package final class WorldBell: Bell, @unchecked Sendable {
  private struct Target {
    weak var bell: WorldBell?
  }
  private var targets: [Target] = []
  package var isRung = false
  package var isHeard = false

  package init() {}

  /// Those that it pulls.
  package func pull(_ bells: [WorldBell]) { targets = bells.map { Target(bell: $0) } }

  package func ring() -> Bool {
    let heard = targets.compactMap(\.bell).filter(\.isHeard)
    for bell in heard { bell.isRung = true }
    return !heard.isEmpty
  }
}

internal import TransferService

/// A bell that whoever listens looks at in his turn. For one thread.
package final class WorldBell: Bell, @unchecked Sendable {
  /// The one that it pulls; nil: nobody is there.
  package weak var target: WorldBell?
  package var isRung = false
  package var isHeard = false

  package init() {}

  package func ring() -> Bool {
    guard let target, target.isHeard else { return false }
    target.isRung = true
    return true
  }
}

package import Processes

/// Tells another process that there is something to look at.
package protocol Bell: Sendable {
  /// - Returns: whether somebody hears it.
  @discardableResult func ring() -> Bool
}

extension DoorbellPull: Bell {}

internal import Curl

/// The reasons to pause a transfer, in each direction. A direction flows again when no reason is left.
struct FlowControl: Sendable, Equatable {
  struct Reasons: OptionSet, Sendable {
    let rawValue: UInt8
    /// URLSessionTask.suspend().
    static let suspended = Reasons(rawValue: 1)
    /// The disk or a reader of the body is slower than the origin.
    static let downstream = Reasons(rawValue: 2)
    /// The client or the disk is slower than the origin that receives the body.
    static let source = Reasons(rawValue: 4)
    /// maximumBytesPerSecond.
    static let rate = Reasons(rawValue: 8)
    /// The transfer waits for the delegate, or for the events of earlier parts.
    static let decision = Reasons(rawValue: 16)
    /// Other transfers take their turn.
    static let timeSlice = Reasons(rawValue: 32)
  }

  var receive: Reasons = []
  var send: Reasons = []

  /// The directions that libcurl must pause.
  var directions: FlowDirections {
    var directions: FlowDirections = []
    if !receive.isEmpty { directions.insert(.receive) }
    if !send.isEmpty { directions.insert(.send) }
    return directions
  }

  var isSuspended: Bool { receive.contains(.suspended) }

  mutating func suspend() {
    receive.insert(.suspended)
    send.insert(.suspended)
  }

  mutating func resume() {
    receive.remove(.suspended)
    send.remove(.suspended)
  }
}

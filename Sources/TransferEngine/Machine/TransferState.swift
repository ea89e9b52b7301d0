internal import TransferModel

/// The state of a transfer, with its reason to wait.
///
/// | from | to | by |
/// |---|---|---|
/// | `offWire(nil)` | `queued` | `TransferLifecycle.queue()` |
/// | `offWire(nil)`, `queued` | `onWire(nil)` | `enterWire()` |
/// | `onWire`, `queued`, `offWire` | `offWire`, with the same reason to wait | `park()`, `suspend()` of a queued transfer |
/// | `onWire`, `queued`, `offWire` | `offWire(reason)` | `wait(for:)` |
/// | `onWire`, `offWire` | the same, with a reason to wait | `pause(for:)` |
/// | `onWire(reason)`, `offWire(reason)` | the same, without a reason | `stopWaiting(for:)`, `decisionReceived()`, `endHandshake()` |
/// | all but `finishing` | `finishing` | `finish()` |
/// | `finishing` | `offWire(nil)` | `restart()` |
enum TransferState: Equatable {
  /// Off the wire and out of the queue: suspended, or waiting.
  case offWire(WaitReason?)
  /// In the scheduler: the transfer waits for a slot, or has one and begins at the end of the tick.
  case queued
  /// The transfer's handle is in the multi handle.
  case onWire(WaitReason?)
  /// The body, or the part to keep, is on its way to the disk.
  case finishing

  /// The reason for which a transfer waits.
  enum WaitReason: Equatable {
    case redirect(proposed: TransferRequest)
    case response
    /// The events of earlier parts are not stored yet.
    case parts
    /// The client has yet to send the request's body.
    /// - Parameter behindHandshake: Whether the transfer has a connection, whose handshake is held meanwhile.
    case bodyStream(behindHandshake: Bool)
    /// The delegate answers a 401 or 407. Its body may become the result.
    case challenge(Authenticator.Side)
    /// A token for Negotiate is being made.
    case token(Authenticator.Side)
    /// The delegate answers a challenge of a TLS handshake.
    case handshake
    /// The session's cache is being opened, or is storing a response that may answer.
    case cache
    /// The delegate decides whether the response may be stored.
    case caching
    /// There is no network to the origin.
    case connectivity
    /// The transfer's files are being opened.
    case files

    /// Whether the transfer waits in its connection's handshake.
    var isInHandshake: Bool { self == .handshake || self == .bodyStream(behindHandshake: true) }

    /// Whether the body of the held response may still be needed.
    var keepsBody: Bool {
      switch self {
      case .redirect, .challenge, .token: true
      case .response, .parts, .bodyStream, .handshake, .cache, .caching, .connectivity, .files: false
      }
    }
  }

  var isParked: Bool { if case .offWire = self { true } else { false } }
  var isQueued: Bool { if case .queued = self { true } else { false } }
  var isOnWire: Bool { if case .onWire = self { true } else { false } }
  var isFinishing: Bool { if case .finishing = self { true } else { false } }

  /// The reason to wait. Only a transfer that is parked or on the wire has one.
  var waitReason: WaitReason? {
    get {
      switch self {
      case .offWire(let hold), .onWire(let hold): hold
      case .queued, .finishing: nil
      }
    }
    set {
      switch self {
      case .offWire: self = .offWire(newValue)
      case .onWire: self = .onWire(newValue)
      case .queued, .finishing: assert(newValue == nil, "a transfer that is \(self) cannot wait")
      }
    }
  }
}

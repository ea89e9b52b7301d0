internal import TransferModel

/// Where a transfer is, and what it waits for there.
///
/// | from | to | by |
/// |---|---|---|
/// | `parked(nil)` | `queued` | `TransferCourse.queue()` |
/// | `parked(nil)`, `queued` | `onWire(nil)` | `goOnWire()` |
/// | `onWire`, `queued`, `parked` | `parked`, with the same reason to wait | `park()`, `suspend()` of a queued transfer |
/// | `onWire`, `queued`, `parked` | `parked(reason)` | `wait(for:)` |
/// | `onWire`, `parked` | the same, with a reason to wait | `pause(for:)` |
/// | `onWire(reason)`, `parked(reason)` | the same, without one | `stopWaiting(for:)`, `decided()`, `endHandshake()` |
/// | all but `finishing` | `finishing` | `finish()` |
enum TransferState: Equatable {
  /// Off the wire and out of the queue: suspended, or waiting.
  case parked(WaitReason?)
  /// In the scheduler: it waits for a slot, or has one and begins at the end of the tick.
  case queued
  /// Its handle is in the multi handle.
  case onWire(WaitReason?)
  /// Its body, or what is kept of it, is on its way to the disk.
  case finishing

  /// The reason for which a transfer waits.
  enum WaitReason: Equatable {
    case redirect(proposed: TransferRequest)
    case response
    /// The events of earlier parts are not stored yet.
    case parts
    /// Its client sends the request's body.
    /// - Parameter behindHandshake: its connection came first, and its handshake is held meanwhile.
    case bodyStream(behindHandshake: Bool)
    /// A 401 or 407; its body may become the result.
    case challenge(Authenticator.Side)
    /// A token for Negotiate is being made.
    case token(Authenticator.Side)
    /// The delegate is asked in the middle of a handshake.
    case handshake
    /// The session's cache is being opened, or is storing what would answer.
    case cache
    /// Whether the answer may be stored.
    case caching
    /// There is no network to the origin.
    case connectivity
    /// Its files are being opened.
    case files

    /// It waits in the middle of its connection's handshake.
    var isInHandshake: Bool { self == .handshake || self == .bodyStream(behindHandshake: true) }

    /// The body of the answer that is held may yet be of use.
    var keepsBody: Bool {
      switch self {
      case .redirect, .challenge, .token: true
      case .response, .parts, .bodyStream, .handshake, .cache, .caching, .connectivity, .files: false
      }
    }
  }

  var isParked: Bool { if case .parked = self { true } else { false } }
  var isQueued: Bool { if case .queued = self { true } else { false } }
  var isOnWire: Bool { if case .onWire = self { true } else { false } }
  var isFinishing: Bool { if case .finishing = self { true } else { false } }

  /// The reason to wait. Only a transfer that is parked or on the wire has one.
  var hold: WaitReason? {
    get {
      switch self {
      case .parked(let hold), .onWire(let hold): hold
      case .queued, .finishing: nil
      }
    }
    set {
      switch self {
      case .parked: self = .parked(newValue)
      case .onWire: self = .onWire(newValue)
      case .queued, .finishing: assert(newValue == nil, "a transfer that is \(self) cannot wait")
      }
    }
  }
}

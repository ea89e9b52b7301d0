internal import TransferModel

/// What a transfer waits for before it goes on.
enum TransferHold: Equatable {
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
  /// What it needs of the disk is being opened.
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

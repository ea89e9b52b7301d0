internal import TransferModel

/// The background sessions by name, and the names whose sessions are being created. A plain value; `SessionNames` locks it.
struct BackgroundSessions {
  /// What a name stands for at the moment.
  enum Claim {
    /// Nothing: it is the caller's, who owes a `release`.
    case granted
    /// The session that has or had it last.
    case known(SessionID)
    /// A session that is being created; `action` is called when that has come to an end.
    case underWay
  }

  private var sessions: [BackgroundName: SessionID] = [:]
  private var underWay: [BackgroundName: [@Sendable () -> Void]] = [:]

  /// Takes a name for a session to be created.
  /// - Parameters:
  ///   - isOver: whether a session that has the name is invalid or gone.
  ///   - action: called once, where the name is being taken by somebody else, when that is decided.
  mutating func claim(
    _ name: BackgroundName, isOver: (SessionID) -> Bool, elseCall action: @escaping @Sendable () -> Void
  ) -> Claim {
    if underWay[name] != nil {
      underWay[name]?.append(action)
      return .underWay
    }
    if let id = sessions[name], !isOver(id) { return .known(id) }
    underWay[name] = []
    return .granted
  }

  /// Ends a claim, with the session that has the name from here on; nil where none was created. Returns those who wait.
  mutating func release(_ name: BackgroundName, to session: SessionID?) -> [@Sendable () -> Void] {
    if let session { sessions[name] = session }
    return underWay.removeValue(forKey: name) ?? []
  }

  func session(of name: BackgroundName) -> SessionID? { sessions[name] }

  /// A session that an earlier process left.
  mutating func restore(_ session: TransferSession) {
    guard session.state != .invalid, let name = session.backgroundName else { return }
    sessions[name] = session.id
  }

  /// A session is deleted: its name goes with it, unless another has that now.
  mutating func forget(_ session: TransferSession) {
    guard let name = session.backgroundName, sessions[name] == session.id else { return }
    sessions[name] = nil
  }
}

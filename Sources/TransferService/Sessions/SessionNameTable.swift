internal import TransferModel

/// The background sessions by name, and the names of sessions that are being created. A plain value, locked by `SessionNameRegistry`.
struct SessionNameTable {
  /// The result of claiming a name.
  enum Claim {
    /// The name is free. The caller has it now and must call `release`.
    case granted
    /// The session that has the name, or had it last.
    case known(SessionID)
    /// A session with the name is being created. `action` is called when that has succeeded or failed.
    case underWay
  }

  private var sessions: [BackgroundSessionKey: SessionID] = [:]
  private var underWay: [BackgroundSessionKey: [@Sendable () -> Void]] = [:]

  /// Claims a name for a session to be created.
  /// - Parameters:
  ///   - isOver: whether a session that has the name is invalid or deleted.
  ///   - action: called once, if another caller is creating a session with the name, when that has succeeded or failed.
  mutating func claim(
    _ name: BackgroundSessionKey, isOver: (SessionID) -> Bool, elseCall action: @escaping @Sendable () -> Void
  ) -> Claim {
    if underWay[name] != nil {
      underWay[name]?.append(action)
      return .underWay
    }
    if let id = sessions[name], !isOver(id) { return .known(id) }
    underWay[name] = []
    return .granted
  }

  /// Ends a claim. `session` has the name from now on, or is `nil` if none was created.
  /// - Returns: the actions of the waiting callers.
  mutating func release(_ name: BackgroundSessionKey, to session: SessionID?) -> [@Sendable () -> Void] {
    if let session { sessions[name] = session }
    return underWay.removeValue(forKey: name) ?? []
  }

  func session(of name: BackgroundSessionKey) -> SessionID? { sessions[name] }

  /// Adds a session of an earlier process.
  mutating func restore(_ session: TransferSession) {
    guard session.state != .invalid, let name = session.backgroundKey else { return }
    sessions[name] = session.id
  }

  /// Removes a deleted session's name, unless another session has the name now.
  mutating func forget(_ session: TransferSession) {
    guard let name = session.backgroundKey, sessions[name] == session.id else { return }
    sessions[name] = nil
  }
}

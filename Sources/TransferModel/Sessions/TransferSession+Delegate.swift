extension TransferSession {
  /// Whose calls are made about a task: its own delegate's, as far as that has them, and else the session's.
  package func delegate(of task: TransferTask?) -> SessionDelegate? {
    guard let own = task?.preferences.delegate else { return delegate }
    return own.over(delegate)
  }
}

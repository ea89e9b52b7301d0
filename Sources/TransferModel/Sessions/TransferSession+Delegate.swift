extension TransferSession {
  /// Returns the delegate for a task: the task's own delegate, completed by the session's.
  package func delegate(of task: TransferTask?) -> SessionDelegate? {
    guard let own = task?.preferences.delegate else { return delegate }
    return own.overriding(delegate)
  }
}

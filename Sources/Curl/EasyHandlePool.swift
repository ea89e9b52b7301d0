/// A pool of easy handles. A handle is reused only if libcurl leaves nothing of one transfer to the next. Used on one loop's thread.
package final class EasyHandlePool {
  private let capacity: Int
  private var idle: [EasyHandle] = []

  /// - Parameters:
  ///   - maximumIdle: The maximum number of handles kept for later.
  ///   - version: The version of libcurl.
  package init(maximumIdle: Int, version: CurlVersion = .loaded) {
    capacity = version.cleansHandles ? maximumIdle : 0
  }

  /// Returns a handle without options.
  package func dequeue() throws(CurlError) -> EasyHandle {
    if let easy = idle.popLast() { return easy }
    return try EasyHandle()
  }

  /// Puts a handle back into the pool. The handle must be in no multi handle, and its transfer must have succeeded.
  package func enqueue(_ easy: EasyHandle) {
    guard idle.count < capacity, easy.reset() else { return }
    idle.append(easy)
  }

  package func removeAll() { idle.removeAll() }
}

/// Easy handles for transfers that follow each other: used again only where libcurl leaves nothing of one transfer to
/// the next. On one loop's thread.
package final class EasyHandlePool {
  private let capacity: Int
  private var idle: [EasyHandle] = []

  /// - Parameters:
  ///   - maximumIdle: handles kept for later.
  ///   - version: the libcurl that they are of.
  package init(maximumIdle: Int, version: CurlVersion = .loaded) {
    capacity = version.cleansHandles ? maximumIdle : 0
  }

  /// A handle without options.
  package func take() throws(CurlError) -> EasyHandle {
    if let easy = idle.popLast() { return easy }
    return try EasyHandle()
  }

  /// Gives a handle back that is in no multi handle. Only after a transfer that ended well.
  package func give(_ easy: EasyHandle) {
    guard idle.count < capacity, easy.reset() else { return }
    idle.append(easy)
  }

  package func removeAll() { idle.removeAll() }
}

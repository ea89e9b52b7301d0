/// What one transfer takes of one turn of its loop. Pure.
///
/// libcurl reads on while the socket has bytes, up to a hundred buffers: others would wait for a server that is fast, or that sends
/// what is slow to take.
struct LoopTurn {
  /// For how long it is the transfer's turn.
  static let time = Duration.milliseconds(5)
  /// Bytes of one turn while other transfers are under way, and whatever libcurl still has of a buffer.
  static let bytes = 256 * 1024
  /// libcurl hands on a buffer in pieces of this size (CURL_MAX_WRITE_SIZE); a shorter one ends it.
  private static let pieceSize = 16 * 1024

  private var tick: UInt64 = 0
  private var begin = ContinuousClock.now
  private var taken = 0

  /// The transfer has taken bytes.
  /// - Parameters:
  ///   - tick: the loop's.
  ///   - isAlone: no other transfer is under way.
  /// - Returns: whether its turn is over.
  mutating func take(_ count: Int, at now: ContinuousClock.Instant, tick: UInt64, isAlone: Bool) -> Bool {
    if tick != self.tick { (self.tick, begin, taken) = (tick, now, 0) }
    taken += count
    if now - begin >= Self.time { return true }
    guard !isAlone, taken >= Self.bytes else { return false }
    // What is left of a buffer would have to be copied.
    return count < Self.pieceSize || taken >= 2 * Self.bytes
  }
}

/// A transfer's share of one iteration of its loop. Pure.
///
/// libcurl reads up to a hundred buffers while the socket has bytes. Without a limit, one fast origin would delay the other transfers, as
/// would one whose bytes are slow to process.
struct LoopTimeSlice {
  /// Time limit of a turn.
  static let time = Duration.milliseconds(5)
  /// Byte limit of a turn if other transfers run. The rest of libcurl's buffer is still taken, up to twice the limit.
  static let bytes = 256 * 1024
  /// libcurl delivers a buffer in pieces of this size (CURL_MAX_WRITE_SIZE); a shorter one ends it.
  private static let pieceSize = 16 * 1024

  private var tick: UInt64 = 0
  private var begin = ContinuousClock.now
  private var taken = 0

  /// The transfer has taken bytes.
  /// - Parameters:
  ///   - tick: the loop's.
  ///   - isAlone: no byte limit applies, since this is the only transfer, or an HTTP/2 stream.
  /// - Returns: whether its turn is over.
  mutating func consume(_ count: Int, at now: ContinuousClock.Instant, tick: UInt64, isAlone: Bool) -> Bool {
    if tick != self.tick { (self.tick, begin, taken) = (tick, now, 0) }
    taken += count
    if now - begin >= Self.time { return true }
    guard !isAlone, taken >= Self.bytes else { return false }
    // What is left of a buffer would have to be copied.
    return count < Self.pieceSize || taken >= 2 * Self.bytes
  }
}

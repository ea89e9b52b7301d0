/// A transfer's share of one iteration of its loop. Pure.
///
/// libcurl reads up to a hundred buffers while the socket has bytes. Without a limit, one fast origin would delay the other transfers, as
/// would one whose bytes are slow to process.
struct LoopTimeSlice {
  /// Limit of a turn in pieces of a body, whatever their size: a few milliseconds. A count, unlike a clock, is the same on every machine.
  static let pieces = 2048
  /// Time limit of a turn if other transfers run.
  static let time = Duration.milliseconds(5)
  /// Byte limit of a turn if other transfers run. The rest of libcurl's buffer is still taken, up to twice the limit.
  static let bytes = 256 * 1024
  /// The size of the pieces of a buffer that libcurl delivers (CURL_MAX_WRITE_SIZE). A shorter piece ends the buffer.
  private static let pieceSize = 16 * 1024

  private var tick: UInt64 = 0
  private var begin = ContinuousClock.now
  private var taken = 0
  private var count = 0

  /// Counts the bytes that the transfer has taken.
  /// - Parameters:
  ///   - tick: The loop's tick.
  ///   - isAlone: Whether this is the only transfer.
  ///   - isStream: Whether this is an HTTP/2 stream, which has no byte limit.
  /// - Returns: Whether the transfer's turn is over.
  mutating func consume(
    _ size: Int, at now: ContinuousClock.Instant, tick: UInt64, isAlone: @autoclosure () -> Bool,
    isStream: @autoclosure () -> Bool
  ) -> Bool {
    if tick != self.tick { (self.tick, begin, taken, count) = (tick, now, 0, 0) }
    taken += size
    count += 1
    if count >= Self.pieces { return true }
    let isLate = now - begin >= Self.time
    guard isLate || taken >= Self.bytes, !isAlone() else { return false }
    guard !isLate else { return true }
    guard !isStream() else { return false }
    // After a pause in the middle of a buffer, libcurl would copy the rest of it.
    return size < Self.pieceSize || taken >= 2 * Self.bytes
  }
}

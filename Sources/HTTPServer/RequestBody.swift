internal import Synchronization

/// Why a request's body could not be read.
package enum RequestBodyError: Error, Sendable {
  /// Longer than the reader allows.
  case tooLarge(limit: Int)
  /// The client left before the end.
  case disconnected
  /// The limit for all bodies that are being received is reached.
  case noRoom
}

/// The bytes of a request, read once. Bytes that are not read stay with the client: a slow reader slows it down.
package struct RequestBody: Sendable {
  /// A body at hand, and whether it was read.
  private final class Bytes: Sendable {
    let bytes: [UInt8]
    private let isRead = Mutex(false)

    init(_ bytes: [UInt8]) { self.bytes = bytes }

    /// All of it, once.
    func next() -> [UInt8]? {
      let isRead = isRead.withLock { isRead in
        defer { isRead = true }
        return isRead
      }
      return isRead || bytes.isEmpty ? nil : bytes
    }
    func stop() { isRead.withLock { $0 = true } }
  }
  private enum Storage: Sendable {
    case bytes(Bytes)
    case exchange(Exchange)
  }
  private let storage: Storage
  /// The announced length; nil where it is not known (chunked).
  package let length: Int?

  init(_ exchange: Exchange, length: Int?) {
    storage = .exchange(exchange)
    self.length = length
  }

  /// A body at hand, for requests that come from no connection.
  package init(_ bytes: [UInt8]) {
    storage = .bytes(Bytes(bytes))
    length = bytes.count
  }

  /// The next bytes; nil at the end. A body at hand comes in one piece.
  package func next() async throws(RequestBodyError) -> [UInt8]? {
    switch storage {
    case .bytes(let bytes): return bytes.next()
    case .exchange(let exchange): return try await exchange.nextBodyChunk()
    }
  }

  /// Lets the client be silent for so long, and not only for as long as the server lets others. Before the first `next`.
  package func allowSilence(seconds: Int) {
    if case .exchange(let exchange) = storage { exchange.meeting.allowSilence(seconds: seconds) }
  }

  /// Reads no further: a `next` that waits, and each that follows, returns nil.
  package func stop() {
    switch storage {
    case .bytes(let bytes): bytes.stop()
    case .exchange(let exchange): exchange.meeting.stopReading()
    }
  }

  /// Counts the bytes from `next` that are kept in memory.
  private func makeReservation() -> BudgetReservation {
    if case .exchange(let exchange) = storage {
      BudgetReservation(exchange.daemon.receiving)
    } else {
      BudgetReservation(nil)
    }
  }

  /// The whole body, where it has at most `limit` bytes.
  package func collect(upTo limit: Int) async throws(RequestBodyError) -> [UInt8] {
    if let length, length > limit { throw .tooLarge(limit: limit) }
    if case .bytes(let bytes) = storage { return bytes.bytes }
    let reservation = makeReservation()
    var bytes: [UInt8] = []
    // Where the end is known, nobody waits for the word that it has come.
    while bytes.count < length ?? .max, let chunk = try await next() {
      guard bytes.count + chunk.count <= limit else { throw .tooLarge(limit: limit) }
      try reservation.reserve(chunk.count)
      if bytes.isEmpty { bytes = chunk } else { bytes += chunk }
    }
    return bytes
  }
}

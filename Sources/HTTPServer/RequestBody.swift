internal import Synchronization

/// The reason why a request's body could not be read.
package enum RequestBodyError: Error, Sendable {
  /// The body is longer than the reader allows.
  case tooLarge(limit: Int)
  /// The client left before the end.
  case disconnected
  /// The limit for all bodies that are being received is reached.
  case noRoom
}

/// The body of a request, read once. Unread bytes stay with the client, so a slow reader slows down the client.
package struct RequestBody: Sendable {
  /// A body in memory, and whether it was read.
  private final class Bytes: Sendable {
    let bytes: [UInt8]
    private let isRead = Mutex(false)

    init(_ bytes: [UInt8]) { self.bytes = bytes }

    /// Returns the whole body once, then `nil`.
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
  /// The announced length; `nil` if the body is chunked.
  package let length: Int?

  init(_ exchange: Exchange, length: Int?) {
    storage = .exchange(exchange)
    self.length = length
  }

  /// Makes a body from bytes in memory, for requests without a connection.
  package init(_ bytes: [UInt8]) {
    storage = .bytes(Bytes(bytes))
    length = bytes.count
  }

  /// Returns the next bytes; `nil` at the end. A body in memory comes in one piece.
  package func next() async throws(RequestBodyError) -> [UInt8]? {
    switch storage {
    case .bytes(let bytes): return bytes.next()
    case .exchange(let exchange): return try await exchange.nextBodyChunk()
    }
  }

  /// Allows the client a longer silence than the server's default. Call this function before the first `next`.
  package func allowSilence(seconds: Int) {
    if case .exchange(let exchange) = storage { exchange.channel.allowSilence(seconds: seconds) }
  }

  /// Stops reading. A waiting `next`, and each later one, returns `nil`.
  package func stop() {
    switch storage {
    case .bytes(let bytes): bytes.stop()
    case .exchange(let exchange): exchange.channel.stopReading()
    }
  }

  /// Makes the reservation that counts the collected bytes.
  private func makeReservation() -> BudgetReservation {
    if case .exchange(let exchange) = storage {
      BudgetReservation(exchange.daemon.receiving)
    } else {
      BudgetReservation(nil)
    }
  }

  /// Returns the whole body.
  ///
  /// - Throws: `tooLarge` if the body has more than `limit` bytes.
  package func collect(upTo limit: Int) async throws(RequestBodyError) -> [UInt8] {
    if let length, length > limit { throw .tooLarge(limit: limit) }
    if case .bytes(let bytes) = storage { return bytes.bytes }
    let reservation = makeReservation()
    var bytes: [UInt8] = []
    // If the length is known, the loop does not wait for the end of the body.
    while bytes.count < length ?? .max, let chunk = try await next() {
      guard bytes.count + chunk.count <= limit else { throw .tooLarge(limit: limit) }
      try reservation.reserve(chunk.count)
      if bytes.isEmpty { bytes = chunk } else { bytes += chunk }
    }
    return bytes
  }
}

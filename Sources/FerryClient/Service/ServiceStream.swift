internal import EventLoop

/// A reply that is read while it arrives. Bytes that are not read hold the service up.
package final class ServiceStream: AsyncSequence, AsyncIteratorProtocol, Sendable {
  package typealias Element = [UInt8]
  package typealias Failure = ServiceError

  package let head: ServiceHead
  private let exchange: ServiceExchange
  private let loop: EventLoop

  init(_ head: ServiceHead, _ exchange: ServiceExchange, on loop: EventLoop) {
    self.head = head
    self.exchange = exchange
    self.loop = loop
  }

  deinit { cancel() }

  package func makeAsyncIterator() -> ServiceStream { self }

  /// Returns the next bytes; `nil` at the end.
  package func next() async throws(ServiceError) -> [UInt8]? { try await read() }

  package func next(isolation actor: isolated (any Actor)?) async throws(ServiceError) -> [UInt8]? {
    try await read()
  }

  private func read() async throws(ServiceError) -> [UInt8]? {
    let result = await withTaskCancellationHandler {
      await withCheckedContinuation {
        (continuation: CheckedContinuation<Result<[UInt8]?, ServiceError>, Never>) in
        loop.perform { [exchange] in exchange.read { continuation.resume(returning: $0) } }
      }
    } onCancel: {
      cancel()
    }
    return try result.get()
  }

  /// Ends the request. A waiting reader receives `ServiceError.cancelled`.
  package func cancel() { loop.perform { [exchange] in exchange.cancel() } }

  /// Returns the remaining bytes.
  package func collect(upTo limit: Int) async throws(ServiceError) -> [UInt8] {
    var bytes: [UInt8] = []
    while let more = try await next() {
      bytes += more
      guard bytes.count <= limit else {
        cancel()
        throw .invalidReply("the reply exceeds \(limit) bytes")
      }
    }
    return bytes
  }
}

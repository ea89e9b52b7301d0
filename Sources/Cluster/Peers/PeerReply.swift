internal import EventLoop
internal import HTTPServer

/// A response that is read whole.
final class PeerReply: @unchecked Sendable {
  // Unchecked: mutable state belongs to the loop's thread.
  private static let chunk = 64 * 1024

  private let source: any ResponseSource
  private let loop: EventLoop
  private var bytes: [UInt8] = []
  private var done: ((Result<[UInt8], PeerFailure>) -> Void)?

  init(_ source: any ResponseSource, on loop: EventLoop) {
    self.source = source
    self.loop = loop
  }

  func collect(upTo limit: Int) async throws(PeerFailure) -> [UInt8] {
    let result = await withCheckedContinuation {
      (continuation: CheckedContinuation<Result<[UInt8], PeerFailure>, Never>) in
      loop.perform { [self] in
        done = { continuation.resume(returning: $0) }
        source.attach(
          ResponseWaker { [weak self, loop] in loop.perform { [weak self] in self?.read(upTo: limit) } })
        read(upTo: limit)
      }
    }
    source.close()
    return try result.get()
  }

  private func read(upTo limit: Int) {
    while done != nil {
      switch source.read(maximum: Self.chunk) {
      case .bytes(let chunk): bytes += chunk
      case .wait: return
      case .end: end(.success(bytes))
      case .failed: end(.failure(.lost("broke off")))
      }
      if bytes.count > limit { end(.failure(.lost("is too long"))) }
    }
  }

  private func end(_ result: Result<[UInt8], PeerFailure>) {
    let done = done
    self.done = nil
    done?(result)
  }
}

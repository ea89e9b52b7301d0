import BlobStore
import SimulatedStores
import Synchronization
import TestSupport
import Testing

/// The calls of a store, in order.
final class SlowCalls {
  let memory = MemoryBlobs()
  let store: SlowBlobs
  private var iterator: AsyncStream<SlowBlobs.PendingCall>.Iterator

  init() {
    let (calls, received) = AsyncStream.makeStream(of: SlowBlobs.PendingCall.self)
    iterator = calls.makeAsyncIterator()
    store = SlowBlobs(memory) { received.yield($0) }
  }

  /// Returns the next call, which must be of that kind.
  func next(_ call: SlowBlobs.Call) async throws -> SlowBlobs.PendingCall {
    let next = try #require(await iterator.next(isolation: #isolation))
    #expect(next.call == call)
    return next
  }

  func answer(_ calls: SlowBlobs.Call...) async throws {
    for call in calls { try await next(call).answer() }
  }

  /// Answers calls until one of that kind, and returns it.
  func answer(until call: SlowBlobs.Call) async throws -> SlowBlobs.PendingCall {
    while true {
      let next = try #require(await iterator.next(isolation: #isolation))
      if next.call == call { return next }
      next.answer()
    }
  }
}

/// Collects the results of a completion, to count its calls.
final class CompletionLog<Value: Sendable>: Sendable {
  private let values = Mutex<[Value]>([])
  private let first = Gate()

  func tell(_ value: Value) {
    values.withLock { $0.append(value) }
    first.open()
  }

  var all: [Value] { values.withLock { $0 } }
  func wait() -> Value? { first.wait() ? all.first : nil }
}

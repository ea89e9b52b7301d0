import BlobStore
import SimulatedStores
import Synchronization
import TestSupport
import Testing

/// The calls that the store gets, in their order.
final class SlowCalls {
  let memory = MemoryBlobs()
  let store: SlowBlobs
  private var iterator: AsyncStream<SlowBlobs.Waiting>.Iterator

  init() {
    let (calls, received) = AsyncStream.makeStream(of: SlowBlobs.Waiting.self)
    iterator = calls.makeAsyncIterator()
    store = SlowBlobs(memory) { received.yield($0) }
  }

  /// The next call, which is such a one.
  func next(_ call: SlowBlobs.Call) async throws -> SlowBlobs.Waiting {
    let next = try #require(await iterator.next(isolation: #isolation))
    #expect(next.call == call)
    return next
  }

  func answer(_ calls: SlowBlobs.Call...) async throws {
    for call in calls { try await next(call).answer() }
  }

  /// Answers calls until that one.
  func answer(until call: SlowBlobs.Call) async throws -> SlowBlobs.Waiting {
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

import BlobStore
import SimulatedStores
import Synchronization
import TestSupport
import Testing
import TransferModel

/// Deletions of many blobs.
@Suite(.endsInTime) struct BlobDeletionTests {
  private static func keys(_ count: Int) -> [BlobKey] {
    (0..<count).map { BlobKey(TaskID(high: 1, low: UInt64($0)), .body, nil) }
  }

  @Test(arguments: [0, 1, 16, 17, 100]) func `blobs are deleted a few at once`(_ count: Int) async throws {
    let (calls, told) = (SlowCalls(), CompletionLog<Void>())
    for key in Self.keys(count) { try calls.memory.create(key).write([[1]], at: 0) }
    calls.store.startDeleting(Self.keys(count)) { told.tell(()) }
    let most = min(count, 16)
    var inFlight: [SlowBlobs.PendingCall] = []
    for _ in 0..<most { inFlight.append(try await calls.next(.delete)) }
    // The next call is this one: no further deletion has started.
    calls.store.size(of: Self.keys(1)[0]) { _ in }
    try await calls.answer(.size)
    #expect(told.all.isEmpty == (count > 0))
    for _ in 0..<count {
      // One deletion fails; the others continue.
      let next = inFlight.removeFirst()
      if next.key == Self.keys(1)[0] { next.fail(BlobError(.refused, "no network")) } else { next.answer() }
      if calls.memory.list(.tasks).count > inFlight.count + 1 {
        inFlight.append(try await calls.next(.delete))
      }
    }
    #expect(told.wait() != nil && told.all.count == 1)
    #expect(calls.memory.list(.tasks) == Array(Self.keys(count).prefix(1)))
  }

  /// Each call completes before it returns. A frame for each would overflow the stack.
  @Test func promptDeletionsDoNotRecurse() async throws {
    let (store, told) = (SlowBlobs(MemoryBlobs()) { $0.answer() }, CompletionLog<Void>())
    store.startDeleting(Self.keys(60_000)) { told.tell(()) }
    #expect(told.wait() != nil && told.all.count == 1)
  }
}

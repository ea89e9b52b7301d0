import HTTPFields
import Limits
import Synchronization
import Testing
import TransferModel

@testable import EngineAPI

@Suite struct LiveBodyTests {
  private final class Calls: Sendable { let count = Mutex(0) }
  private static let most = Limits.partsUnderWay.value

  /// Returns the facts of `count` responses of the body.
  private static func facts(_ live: LiveBody, _ count: Int) -> [TransferFact] {
    let response = TransferResponse(
      url: "http://a.test/", status: 200, headers: HTTPHeaders(), expectedContentLength: -1,
      httpVersion: "HTTP/1.1")
    let fact = TransferFact.response(
      TaskID(high: 1, low: 1), response, BodyReference(live), at: Timestamp(microseconds: 0))
    return Array(repeating: fact, count: count)
  }

  @Test func `parts wait until earlier events are stored`() throws {
    let calls = Calls()
    let live = LiveBody { calls.count.withLock { $0 += 1 } }
    for _ in 0..<Self.most {
      #expect(live.requestPart())
      live.countPart()
    }
    #expect(!live.requestPart())
    let stored = try #require(LiveBody.storedCallback(for: Self.facts(live, Self.most / 2 - 1)))
    stored()
    #expect(calls.count.withLock { $0 } == 0, "the callback runs when half are stored")
    LiveBody.storedCallback(for: Self.facts(live, 1))?()
    #expect(calls.count.withLock { $0 } == 1 && live.requestPart())
    LiveBody.storedCallback(for: Self.facts(live, Self.most))?()
    #expect(calls.count.withLock { $0 } == 1, "no callback if no part waits")
  }

  @Test func `single response needs no callback`() {
    #expect(LiveBody.storedCallback(for: Self.facts(LiveBody(), 1)) == nil)
  }
}

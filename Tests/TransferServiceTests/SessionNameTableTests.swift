import Synchronization
import Testing
import TransferModel

@testable import TransferService

@Suite struct SessionNameTableTests {
  private static func name(_ identifier: String, _ tenant: String = "default") -> BackgroundSessionKey {
    BackgroundSessionKey(tenant: Tenant(name: tenant), identifier: identifier)
  }

  private static func session(_ number: UInt64, _ state: SessionState = .active) -> TransferSession {
    var session = TransferSession(
      id: SessionID(high: 1, low: number), type: .background, createdAt: Timestamp(microseconds: 0),
      description: nil, configuration: SessionConfiguration(), delegate: nil, identifier: "a")
    session.state = state
    return session
  }

  /// A table of names with reference semantics, so that `#expect` may call methods that change it.
  private final class Names {
    private var sessions = SessionNameTable()

    /// Returns "granted", "under way", or the known session's number.
    func claim(
      _ name: BackgroundSessionKey, over: Set<SessionID> = [], _ action: @escaping @Sendable () -> Void = {}
    ) -> String {
      switch sessions.claim(name, isOver: over.contains, elseCall: action) {
      case .granted: "granted"
      case .underWay: "under way"
      case .known(let id): "\(id.low)"
      }
    }

    /// Returns the number of waiting callers.
    func release(_ name: BackgroundSessionKey, to session: SessionID?) -> Int {
      let waiting = sessions.release(name, to: session)
      for wake in waiting { wake() }
      return waiting.count
    }

    func restore(_ session: TransferSession) { sessions.restore(session) }
    func forget(_ session: TransferSession) { sessions.forget(session) }
  }

  @Test func `concurrent claims of a name grant it to the first caller`() {
    let names = Names()
    let calls = Atomic<Int>(0)
    #expect(names.claim(Self.name("a")) == "granted")
    for _ in 0..<2 {
      let claim = names.claim(Self.name("a")) { calls.add(1, ordering: .relaxed) }
      #expect(claim == "under way")
    }
    #expect(names.claim(Self.name("b")) == "granted")
    #expect(names.claim(Self.name("a", "other")) == "granted")
    #expect(names.release(Self.name("a"), to: Self.session(1).id) == 2)
    #expect(calls.load(ordering: .relaxed) == 2)
    #expect(names.claim(Self.name("a")) == "1")
  }

  @Test func `failed creation frees the name`() {
    let names = Names()
    #expect(names.claim(Self.name("a")) == "granted")
    #expect(names.release(Self.name("a"), to: nil) == 0)
    #expect(names.claim(Self.name("a")) == "granted")
  }

  @Test func `ended session loses its name to the next claim`() {
    let names = Names()
    let (first, second) = (Self.session(1), Self.session(2))
    names.restore(first)
    #expect(names.claim(Self.name("a")) == "1")
    #expect(names.claim(Self.name("a"), over: [first.id]) == "granted")
    _ = names.release(Self.name("a"), to: second.id)
    names.forget(first)
    #expect(names.claim(Self.name("a"), over: [first.id]) == "2")
    names.forget(second)
    #expect(names.claim(Self.name("a")) == "granted")
  }

  @Test func `restored session owns its name unless it is invalid`() {
    for (state, expected) in [(SessionState.active, "1"), (.invalidating, "1"), (.invalid, "granted")] {
      let names = Names()
      names.restore(Self.session(1, state))
      #expect(names.claim(Self.name("a")) == expected)
    }
  }
}

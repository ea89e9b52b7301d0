import BlobStore
import HTTPCookies
import Synchronization
import Testing
import TransferModel

@testable import EngineAPI

/// Loading and unloading the cookies and credentials of sessions.
@Suite struct SessionStorageLoaderTests {
  /// A ledger that answers only when the test calls `load` or `settle`.
  private final class Ledger: Sendable {
    private struct State {
      var cookies: [String] = ["a"]
      var loads: [@Sendable (SessionStorageLoader.Contents?) -> Void] = []
      var settlements: [@Sendable (Bool) -> Void] = []
      var idle: [SessionID] = []
    }
    private let state = Mutex(State())
    let storages = SessionStorageLoader()

    init() {
      storages.connect(
        SessionStorageLoader.Source { [weak self] _, loaded in
          self?.state.withLock { $0.loads.append(loaded) }
        } settle: { [weak self] _, settled in
          self?.state.withLock { $0.settlements.append(settled) }
        })
      storages.onIdle { [weak self] session in self?.state.withLock { $0.idle.append(session) } }
    }

    var loads: Int { state.withLock { $0.loads.count } }
    var settlements: Int { state.withLock { $0.settlements.count } }
    var idle: [SessionID] { state.withLock { $0.idle } }

    func load(_ isReadable: Bool = true) throws {
      let load = try #require(state.withLock { $0.loads.isEmpty ? nil : $0.loads.removeFirst() })
      load(isReadable ? contents : nil)
    }

    private var contents: SessionStorageLoader.Contents {
      SessionStorageLoader.Contents(
        cookies: state.withLock { $0.cookies }.map { SessionStorageLoaderTests.cookie($0) },
        credentials: [
          CredentialEntry(
            space: SessionStorageLoaderTests.space("stored"), credential: SessionStorageLoaderTests.alice)
        ], readAt: Timestamp(seconds: 1))
    }

    func settle(_ isCommitted: Bool = true) throws {
      let settle = try #require(
        state.withLock { $0.settlements.isEmpty ? nil : $0.settlements.removeFirst() })
      settle(isCommitted)
    }

    func unload(_ session: SessionID) throws {
      let queue = try #require(storages.beginUnloading(session))
      storages.endUnloading(session, queue, isUsed: false)
    }
  }

  /// The names of the called actions, in order.
  private final class Calls: Sendable {
    private let calls = Mutex<[String]>([])
    var all: [String] { calls.withLock { $0 } }
    func add(_ name: String) { calls.withLock { $0.append(name) } }
  }

  private static let alice = Credential(user: "alice", password: "p", persistence: .permanent)
  private let session = SessionID(high: 1, low: 1)
  private let ledger = Ledger()
  private let calls = Calls()
  private var storages: SessionStorageLoader { ledger.storages }

  private static func cookie(_ name: String) -> Cookie {
    Cookie(
      name: name, value: "v", domain: "a.test", isHostOnly: true, path: "/", expiresDate: nil,
      isSecure: false,
      isHTTPOnly: false, sameSite: nil, created: Timestamp(seconds: 0), lastAccess: Timestamp(seconds: 0))
  }

  private static func space(_ realm: String) -> ProtectionSpace {
    ProtectionSpace(host: "a.test", port: 80, protocolName: "http", realm: realm)
  }

  private var cookies: [String] {
    storages.cookies.cookies(of: session, now: Timestamp(seconds: 1)).map(\.name)
  }
  private var realms: [String?] { storages.credentials.entries(of: session).map(\.space.realm) }

  private func want(_ name: String) {
    storages.whenLoaded(session) { [calls] isLoaded in calls.add(isLoaded ? name : name + " fails") }
  }

  private func keep(_ realm: String, isStored: Bool) {
    #expect(
      storages.credentials.set(Self.alice, for: Self.space(realm), in: session, isStored: isStored) == nil)
  }

  private func use() async -> Bool { await storages.beginUse(of: session) }

  @Test func `session without rows is in memory`() async {
    want("a")
    #expect(calls.all == ["a"] && ledger.loads == 0)
    #expect(storages.ifLoaded(session) { calls.add("b") })
    #expect(await use())
    #expect(calls.all == ["a", "b"] && ledger.loads == 0)
  }

  @Test func `stored session is read once for all waiting actions`() throws {
    storages.noteStored([session])
    #expect(!storages.ifLoaded(session) { calls.add("early") })
    #expect(storages.ifLoaded(session, needsStorage: false) { calls.add("needs none") })
    want("a")
    want("b")
    #expect(!storages.ifLoaded(session, needsStorage: false) { calls.add("early") })
    #expect(ledger.loads == 1 && calls.all == ["needs none"])
    try ledger.load()
    #expect(calls.all == ["needs none", "a", "b"] && cookies == ["a"] && realms == ["stored"])
    #expect(storages.ifLoaded(session) {} && ledger.idle == [session])
  }

  /// An action that is added while others are called is called after them.
  @Test func `actions keep their order`() throws {
    storages.noteStored([session])
    let session = session
    storages.whenLoaded(session) { [storages, calls] _ in
      calls.add("a")
      storages.whenLoaded(session) { _ in calls.add("c") }
    }
    want("b")
    try ledger.load()
    #expect(calls.all == ["a", "b", "c"])
  }

  @Test func `unloaded session is read again`() throws {
    #expect(storages.cookies.set([Self.cookie("a"), Self.cookie("b")], in: session))
    keep("stored", isStored: true)
    keep("not stored", isStored: false)
    try ledger.unload(session)
    try ledger.settle()
    #expect(cookies == [] && realms == ["not stored"])
    want("waits")
    #expect(calls.all == [] && ledger.loads == 1)
    try ledger.load()
    #expect(calls.all == ["waits"] && cookies == ["a"] && realms == ["not stored", "stored"])
  }

  /// The commit may take long, and actions must not wait for it.
  @Test func `action stops the unloading of its session`() async throws {
    #expect(storages.cookies.set([Self.cookie("b")], in: session))
    try ledger.unload(session)
    want("action")
    try ledger.settle()
    #expect(calls.all == ["action"] && cookies == ["b"] && ledger.loads == 0)
    try ledger.unload(session)
    #expect(storages.ifLoaded(session) { calls.add("command") })
    try ledger.unload(session)
    #expect(await use())
    try ledger.settle()
    try ledger.settle()
    #expect(calls.all == ["action", "command"] && cookies == ["b"] && ledger.loads == 0)
  }

  /// The newer credential replaced the permanent one, and is not in the ledger.
  @Test func `newer credential is not replaced by an older row`() throws {
    let newer = Credential(user: "bob", password: "p", persistence: .forSession)
    storages.noteStored([session])
    want("a")
    #expect(storages.credentials.set(newer, for: Self.space("stored"), in: session, isStored: false) == nil)
    try ledger.load()
    #expect(storages.credentials.entries(of: session).map(\.credential) == [newer])
  }

  @Test func `unloaded session without waiting actions stays in the ledger`() throws {
    #expect(storages.cookies.set([Self.cookie("a")], in: session))
    #expect(storages.unloadableSize(of: session) > 0)
    try ledger.unload(session)
    try ledger.settle()
    #expect(ledger.loads == 0 && cookies == [] && storages.unloadableSize(of: session) == 0)
    #expect(storages.beginUnloading(session) == nil)
    storages.update(session) { [calls] in calls.add("a change that the ledger has") }
    #expect(calls.all == [] && ledger.loads == 0)
  }

  @Test func `session of another process is dropped`() throws {
    #expect(storages.cookies.set([Self.cookie("new")], in: session))
    try ledger.unload(session)
    try ledger.settle(false)
    #expect(cookies == [] && storages.isLoaded(session))
  }

  @Test func `session used by a task stays in memory`() throws {
    #expect(storages.cookies.set([Self.cookie("new")], in: session))
    let queue = try #require(storages.beginUnloading(session))
    want("waits")
    #expect(calls.all == [])
    let before = ledger.idle.count
    storages.endUnloading(session, queue, isUsed: true)
    #expect(calls.all == ["waits"] && cookies == ["new"] && ledger.settlements == 0)
    #expect(ledger.idle.count == before, "a session in use is not listed as idle")
  }

  @Test func `session used by a client stays in memory`() async throws {
    #expect(storages.cookies.set([Self.cookie("new")], in: session))
    #expect(await use())
    #expect(await use())
    storages.endUse(of: session)
    #expect(storages.beginUnloading(session) == nil)
    let before = ledger.idle.count
    storages.endUse(of: session)
    #expect(ledger.idle.count == before + 1)
    #expect(storages.beginUnloading(session) != nil)
  }

  @Test func `ephemeral session is not unloaded`() {
    storages.cookies.count(session, in: MemoryFiles(capacity: 1 << 20))
    #expect(storages.cookies.set([Self.cookie("a")], in: session))
    keep("r", isStored: false)
    #expect(storages.unloadableSize(of: session) == 0 && storages.beginUnloading(session) == nil)
  }

  @Test func `unreadable session fails its actions`() throws {
    storages.noteStored([session])
    want("task")
    storages.beginUse(of: session) { [calls] in calls.add("client: \($0)") }
    try ledger.load(false)
    #expect(calls.all == ["task fails", "client: false"] && cookies == [])
    #expect(storages.beginUnloading(session) == nil)
    want("next")
    try ledger.load()
    #expect(calls.all == ["task fails", "client: false", "next"] && cookies == ["a"])
    #expect(
      storages.beginUnloading(session) != nil, "the client that got an error does not keep the session loaded"
    )
  }

  @Test func `removed session is not restored by a late read`() throws {
    storages.noteStored([session])
    want("waits")
    storages.beginUse(of: session) { [calls] in calls.add("client: \($0)") }
    storages.forget(session)
    #expect(calls.all == ["waits fails", "client: false"])
    try ledger.load()
    #expect(cookies == [] && realms == [])
  }

  /// The session's shard moved to another service and back.
  @Test func `result of an earlier read is not used`() throws {
    storages.noteStored([session])
    want("first")
    storages.forget(session)
    storages.noteStored([session])
    want("second")
    try ledger.load()
    #expect(calls.all == ["first fails"] && cookies == [])
    try ledger.load()
    #expect(calls.all == ["first fails", "second"] && cookies == ["a"])
  }

  @Test func `change during a read is applied afterwards`() throws {
    storages.noteStored([session])
    want("a")
    let session = session
    storages.update(session) { [storages] in
      storages.cookies.apply([.stored(Self.cookie("later"))], to: session)
    }
    #expect(cookies == [])
    try ledger.load()
    #expect(cookies == ["a", "later"])
  }
}

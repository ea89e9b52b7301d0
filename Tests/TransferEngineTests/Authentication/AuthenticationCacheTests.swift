import BlobStore
import EngineAPI
import Limits
import Synchronization
import Testing
import TransferModel

@testable import TransferEngine

@Suite struct AuthenticationCacheTests {
  private let place = ProtectionSpace(host: "a.test", port: 80, protocolName: "http")

  private func attempt(
    _ method: AuthenticationMethod, _ user: String = "u", realm: String = "r", isProxy: Bool = false
  ) -> Authenticator.Attempt {
    var space = place
    space.authenticationMethod = method
    space.realm = realm
    space.isProxy = isProxy
    return .init(space: space, credential: Credential(user: user, password: "p", persistence: .forSession))
  }

  /// RFC 7617 §2.2.
  @Test(arguments: [
    ("/docs/index.html", true), ("/docs/", true), ("/docs/test.doc", true), ("/docs/sub/x?y=/z", true),
    ("/docs", false), ("/docs2/x", false), ("/", false), ("/other", false),
  ])
  func `Basic is sent within its directory`(_ path: String, _ isSent: Bool) {
    var cache = AuthenticationCache()
    cache.remember(attempt(.httpBasic), path: "/docs/page?next=/a/b/")
    #expect((cache.attempt(at: place, path: path) != nil) == isSent)
  }

  @Test func `directories of one realm add up`() {
    var cache = AuthenticationCache()
    for path in ["/a/b/c", "/d/e", "/a/x"] { cache.remember(attempt(.httpBasic), path: path) }
    #expect(["/a/b/z", "/a/q", "/d/q"].allSatisfy { cache.attempt(at: place, path: $0) != nil })
    cache.remember(attempt(.httpBasic, "v"), path: "/f/")
    #expect(cache.attempt(at: place, path: "/d/q") == nil, "the attempt of another user is not reused")
  }

  @Test func `limit of directories discards the oldest`() {
    var cache = AuthenticationCache()
    let most = Limits.authenticatedPaths.value
    for number in 0...most { cache.remember(attempt(.httpBasic), path: "/\(number)/x") }
    let known = (0...most).filter { cache.attempt(at: place, path: "/\($0)/y") != nil }
    #expect(known == Array(1...most), "the oldest is discarded")
  }

  @Test func `limit of realms discards the oldest`() {
    var cache = AuthenticationCache()
    let most = Limits.authenticatedRealms.value
    for number in 0...most {
      cache.remember(attempt(.httpBasic, realm: "r\(number)"), path: "/\(number)/x")
    }
    let known = (0...most).filter { cache.attempt(at: place, path: "/\($0)/y") != nil }
    #expect(known == Array(1...most), "the oldest is discarded")
  }

  @Test func `limit of servers discards all others`() {
    var cache = AuthenticationCache()
    let most = Limits.authenticatedPlaces.value
    func attempt(_ number: Int) -> Authenticator.Attempt {
      let space = ProtectionSpace(
        host: "\(number).test", port: 80, protocolName: "http", realm: "r", authenticationMethod: .httpDigest)
      return .init(space: space, credential: Credential(user: "u", password: "p", persistence: .forSession))
    }
    for number in 0...most { cache.remember(attempt(number), path: "/") }
    let known = (0...most).filter { cache.attempt(at: attempt($0).space.place, path: "/") != nil }
    #expect(known == [most], "all others are discarded")
  }

  @Test(arguments: [AuthenticationMethod.httpDigest, .ntlm, .negotiate])
  func `schemes other than Basic are sent to the whole host`(_ method: AuthenticationMethod) {
    var cache = AuthenticationCache()
    cache.remember(attempt(method), path: "/docs/x")
    #expect(cache.attempt(at: place, path: "/")?.method == method)
  }

  @Test func `another host, port, protocol or proxy gets no credentials`() {
    var cache = AuthenticationCache()
    cache.remember(attempt(.httpDigest), path: "/")
    for change in [
      { $0.host = "b.test" }, { $0.port = 81 }, { $0.protocolName = "https" }, { $0.isProxy = true },
    ] as [(inout ProtectionSpace) -> Void] {
      var other = place
      change(&other)
      #expect(cache.attempt(at: other, path: "/") == nil)
    }
  }

  @Test func `refused credential is removed`() {
    var cache = AuthenticationCache()
    cache.remember(attempt(.httpDigest), path: "/")
    cache.forget(attempt(.httpDigest, "another"))
    #expect(cache.attempt(at: place, path: "/") != nil)
    cache.forget(attempt(.httpDigest))
    #expect(cache.attempt(at: place, path: "/") == nil)
  }
}

@Suite struct CredentialStorageTests {
  private let session = SessionID(high: 1, low: 1)
  private let space = ProtectionSpace(
    host: "a.test", port: 443, protocolName: "https", realm: "r", authenticationMethod: .httpBasic)
  private let alice = Credential(user: "alice", password: "p", persistence: .forSession)

  @Test func `exact protection space overrides a wider one`() {
    let storage = CredentialStorage()
    let wide = ProtectionSpace(host: "a.test", port: 443, protocolName: "https")
    _ = storage.set(alice, for: space, in: session, isStored: false)
    _ = storage.set(Credential(user: "anybody", password: "p"), for: wide, in: session, isStored: false)
    #expect(storage.credential(for: space, in: session)?.user == "alice")
    var other = space
    other.realm = "another"
    #expect(storage.credential(for: other, in: session)?.user == "anybody")
    other.authenticationMethod = .clientCertificate
    #expect(
      storage.credential(for: other, in: session) == nil, "a password does not answer a certificate challenge"
    )
    #expect(storage.credential(for: space, in: SessionID(high: 1, low: 2)) == nil)
  }

  /// After a restart, credentials are restored in another order.
  @Test func `order of insertion affects neither choice nor list`() {
    func space(_ host: String, _ realm: String?, _ method: AuthenticationMethod) -> ProtectionSpace {
      ProtectionSpace(
        host: host, port: 443, protocolName: "https", realm: realm, authenticationMethod: method)
    }
    // Each space is chosen if the spaces before it have no credential.
    let spaces = [
      space("a.test", "r", .httpBasic), space("a.test", "r", .default), space("a.test", nil, .httpBasic),
      space("a.test", nil, .default),
    ]
    let listed = [space("0.test", "z", .default)] + [3, 2, 1, 0].map { spaces[$0] }
    for first in 0..<4 {
      for order in [Array(first..<4), Array((first..<4).reversed())] {
        let storage = CredentialStorage()
        for place in order {
          _ = storage.set(
            Credential(user: "\(place)", password: "p"), for: spaces[place], in: session, isStored: false)
        }
        _ = storage.set(alice, for: listed[0], in: session, isStored: false)
        #expect(storage.credential(for: spaces[0], in: session)?.user == "\(first)")
        #expect(
          storage.entries(of: session).map(\.space)
            == listed.filter { $0 == listed[0] || order.map { spaces[$0] }.contains($0) })
      }
    }
  }

  @Test func `new credential replaces the one of its space`() {
    let storage = CredentialStorage()
    _ = storage.set(alice, for: space, in: session, isStored: false)
    _ = storage.set(Credential(user: "bob", password: "p"), for: space, in: session, isStored: false)
    #expect(storage.entries(of: session).map(\.credential.user) == ["bob"])
    var other = space
    other.host = "b.test"
    storage.remove([other], in: session)
    #expect(storage.entries(of: session).count == 1)
    storage.remove([space], in: session)
    #expect(storage.entries(of: session).isEmpty)
  }

  private func place(_ realm: String) -> ProtectionSpace {
    var place = space
    place.realm = realm
    return place
  }

  private func limit(_ refusal: CredentialStorage.Refusal?) -> String? {
    if case .limit(let limit) = refusal { limit.name } else { nil }
  }

  /// A full session has no room for another credential, but an existing credential can be replaced.
  @Test func `number of credentials of a session is limited`() {
    let storage = CredentialStorage()
    for index in 0..<Limits.credentials.value {
      #expect(storage.set(alice, for: place("\(index)"), in: session, isStored: false) == nil)
    }
    #expect(storage.set(alice, for: place("7"), in: session, isStored: true) == nil)
    let refusal = storage.set(alice, for: place("other"), in: session, isStored: false)
    #expect(limit(refusal) == Limits.credentials.name)
    #expect(storage.credential(for: place("other"), in: session) == nil)
    storage.remove([place("7")], in: session)
    #expect(storage.set(alice, for: place("other"), in: session, isStored: false) == nil)
  }

  /// A smaller credential may always replace another.
  @Test func `bytes of the credentials of a session are limited`() {
    let storage = CredentialStorage()
    func large(_ size: Int) -> Credential {
      Credential(user: "", password: String(repeating: "x", count: size - 256), persistence: .forSession)
    }
    func set(_ size: Int, for realm: String) -> String? {
      limit(storage.set(large(size), for: place(realm), in: session, isStored: false))
    }
    let size = 16 << 10
    for index in 0..<(Limits.credentialBytes.value / size) { #expect(set(size, for: "\(index)") == nil) }
    #expect(set(300, for: "other") == Limits.credentialBytes.name)
    #expect(set(size + 1, for: "0") == Limits.credentialBytes.name)
    #expect(set(size, for: "0") == nil)
    #expect(set(size - 1000, for: "0") == nil)
    #expect(set(700, for: "other") == nil)
    #expect(set(700, for: "another") == Limits.credentialBytes.name)
  }

  /// Credentials in the ledger do not count.
  @Test func `credentials in memory only count towards the quota`() {
    let (storage, files) = (CredentialStorage(), MemoryFiles(capacity: 1000))
    storage.count(session, in: files)
    for index in 0..<9 {
      #expect(storage.set(alice, for: place("\(index)"), in: session, isStored: true) == nil)
    }
    var kept = 0
    while storage.set(alice, for: place("memory \(kept)"), in: session, isStored: false) == nil { kept += 1 }
    #expect((1...4).contains(kept))
    storage.remove([place("memory 0")], in: session)
    #expect(storage.set(alice, for: place("again"), in: session, isStored: false) == nil)
    storage.forget(session)
    #expect(files.hasRoom(for: 1000))
  }

  /// The ledger follows the changes, in their order.
  @Test func `changes of stored credentials are reported in order`() {
    let storage = CredentialStorage()
    let heard = Mutex<[String]>([])
    storage.onChange { _, changes in
      for change in changes {
        switch change {
        case .stored(let space, let credential):
          heard.withLock { $0.append("\(space.realm ?? "") \(credential.user ?? "")") }
        case .removed(let space): heard.withLock { $0.append("\(space.realm ?? "") removed") }
        }
      }
    }
    _ = storage.set(alice, for: place("a"), in: session, isStored: true)
    _ = storage.set(alice, for: place("memory"), in: session, isStored: false)
    storage.apply(alice, for: place("b"), to: session)
    // The delegate's credential is for the session only, so the row is deleted.
    _ = storage.set(Credential(user: "bob", password: "p"), for: place("a"), in: session, isStored: false)
    storage.remove([place("a"), place("b"), place("memory"), place("none")], in: session)
    #expect(heard.withLock { $0 } == ["a alice", "a removed", "b removed"])
  }
}

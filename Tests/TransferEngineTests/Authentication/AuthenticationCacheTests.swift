import Limits
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
  func basicIsSentInItsDirectory(_ path: String, _ isSent: Bool) {
    var cache = AuthenticationCache()
    cache.remember(attempt(.httpBasic), path: "/docs/page?next=/a/b/")
    #expect((cache.attempt(at: place, path: path) != nil) == isSent)
  }

  @Test func directoriesOfOneRealmAddUp() {
    var cache = AuthenticationCache()
    for path in ["/a/b/c", "/d/e", "/a/x"] { cache.remember(attempt(.httpBasic), path: path) }
    #expect(["/a/b/z", "/a/q", "/d/q"].allSatisfy { cache.attempt(at: place, path: $0) != nil })
    cache.remember(attempt(.httpBasic, "v"), path: "/f/")
    #expect(cache.attempt(at: place, path: "/d/q") == nil, "another user is not the one who was let in there")
  }

  @Test func beyondTheLimitTheOldestDirectoryIsDiscarded() {
    var cache = AuthenticationCache()
    let most = Limits.authenticatedPaths.value
    for number in 0...most { cache.remember(attempt(.httpBasic), path: "/\(number)/x") }
    let known = (0...most).filter { cache.attempt(at: place, path: "/\($0)/y") != nil }
    #expect(known == Array(1...most), "the oldest is discarded")
  }

  @Test func beyondTheLimitTheOldestRealmIsDiscarded() {
    var cache = AuthenticationCache()
    let most = Limits.authenticatedRealms.value
    for number in 0...most {
      cache.remember(attempt(.httpBasic, realm: "r\(number)"), path: "/\(number)/x")
    }
    let known = (0...most).filter { cache.attempt(at: place, path: "/\($0)/y") != nil }
    #expect(known == Array(1...most), "the oldest is discarded")
  }

  @Test func beyondTheLimitAllServersAreDiscarded() {
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
  func othersAreSentToTheWholeHost(_ method: AuthenticationMethod) {
    var cache = AuthenticationCache()
    cache.remember(attempt(method), path: "/docs/x")
    #expect(cache.attempt(at: place, path: "/")?.method == method)
  }

  @Test func nobodyElseSeesIt() {
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

  @Test func whatIsRefusedIsForgotten() {
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

  @Test func theExactSpaceIsStrongerThanAWiderOne() {
    let storage = SessionStorages().credentials
    let wide = ProtectionSpace(host: "a.test", port: 443, protocolName: "https")
    storage.set(alice, for: space, in: session, isStored: false)
    storage.set(Credential(user: "anybody", password: "p"), for: wide, in: session, isStored: false)
    #expect(storage.credential(for: space, in: session)?.user == "alice")
    var other = space
    other.realm = "another"
    #expect(storage.credential(for: other, in: session)?.user == "anybody")
    other.authenticationMethod = .clientCertificate
    #expect(storage.credential(for: other, in: session) == nil, "a password is no certificate")
    #expect(storage.credential(for: space, in: SessionID(high: 1, low: 2)) == nil)
  }

  /// After a restart they come back in another order than they were set in.
  @Test func whichOneIsUsedAndHowTheyAreListedIsTheSameInWhateverOrderTheyWereSet() {
    func space(_ host: String, _ realm: String?, _ method: AuthenticationMethod) -> ProtectionSpace {
      ProtectionSpace(
        host: host, port: 443, protocolName: "https", realm: realm, authenticationMethod: method)
    }
    // Each is chosen where the ones before it are not there.
    let spaces = [
      space("a.test", "r", .httpBasic), space("a.test", "r", .default), space("a.test", nil, .httpBasic),
      space("a.test", nil, .default),
    ]
    let listed = [space("0.test", "z", .default)] + [3, 2, 1, 0].map { spaces[$0] }
    for first in 0..<4 {
      for order in [Array(first..<4), Array((first..<4).reversed())] {
        let storage = SessionStorages().credentials
        for place in order {
          storage.set(
            Credential(user: "\(place)", password: "p"), for: spaces[place], in: session, isStored: false)
        }
        storage.set(alice, for: listed[0], in: session, isStored: false)
        #expect(storage.credential(for: spaces[0], in: session)?.user == "\(first)")
        #expect(
          storage.entries(of: session).map(\.space)
            == listed.filter { $0 == listed[0] || order.map { spaces[$0] }.contains($0) })
      }
    }
  }

  @Test func oneForEachSpace() {
    let storage = SessionStorages().credentials
    storage.set(alice, for: space, in: session, isStored: false)
    storage.set(Credential(user: "bob", password: "p"), for: space, in: session, isStored: false)
    #expect(storage.entries(of: session).map(\.credential.user) == ["bob"])
    var other = space
    other.host = "b.test"
    storage.remove([other], in: session)
    #expect(storage.entries(of: session).count == 1)
    storage.remove([space], in: session)
    #expect(storage.entries(of: session).isEmpty)
  }

  /// A full session has no room for another credential, but an existing credential can be replaced.
  @Test func aSessionHasALimit() {
    let storage = SessionStorages().credentials
    for index in 0..<Limits.credentials.value {
      var place = space
      place.realm = "\(index)"
      #expect(storage.hasRoom(for: alice, in: place, of: session, isStored: false))
      storage.set(alice, for: place, in: session, isStored: false)
    }
    var (known, unknown) = (space, space)
    (known.realm, unknown.realm) = ("7", "other")
    #expect(storage.hasRoom(for: alice, in: known, of: session, isStored: false))
    #expect(!storage.hasRoom(for: alice, in: unknown, of: session, isStored: false))
    storage.remove([known], in: session)
    #expect(storage.hasRoom(for: alice, in: unknown, of: session, isStored: false))
  }

  /// A credential that replaces another may always be smaller.
  @Test func theBytesOfASessionsCredentialsHaveALimit() {
    let storage = SessionStorages().credentials
    var places: [ProtectionSpace] = []
    func large(_ size: Int) -> Credential {
      Credential(user: "", password: String(repeating: "x", count: size - 256), persistence: .forSession)
    }
    let size = 16 << 10
    for index in 0..<(Limits.credentialBytes.value / size) {
      var place = space
      place.realm = "\(index)"
      places.append(place)
      #expect(storage.reserveRoom(for: large(size), in: place, of: session) == nil)
      storage.set(large(size), for: place, in: session, isStored: false)
      storage.releaseRoom(for: large(size), of: session)
    }
    var unknown = space
    unknown.realm = "other"
    #expect(storage.reserveRoom(for: alice, in: unknown, of: session)?.name == Limits.credentialBytes.name)
    #expect(!storage.hasRoom(for: large(size + 1), in: places[0], of: session, isStored: false))
    #expect(storage.hasRoom(for: large(size), in: places[0], of: session, isStored: false))
    storage.set(large(size - 1000), for: places[0], in: session, isStored: false)
    #expect(storage.reserveRoom(for: large(700), in: unknown, of: session) == nil)
    #expect(
      !storage.hasRoom(for: large(700), in: unknown, of: session, isStored: false),
      "the first is being stored")
    storage.releaseRoom(for: large(700), of: session)
    #expect(storage.hasRoom(for: large(700), in: unknown, of: session, isStored: false))
  }

  /// Concurrent stores cannot both take the last free place.
  @Test func reservedCredentialsCountTowardsTheLimit() {
    let storage = SessionStorages().credentials
    var places = (0...Limits.credentials.value).map { index in
      var place = space
      place.realm = "\(index)"
      return place
    }
    let last = places.removeLast()
    func isFull(for place: ProtectionSpace) -> Bool {
      storage.reserveRoom(for: alice, in: place, of: session) != nil
    }
    for place in places { #expect(!isFull(for: place)) }
    #expect(isFull(for: last))
    for place in places { storage.set(alice, for: place, in: session, isStored: false) }
    for _ in places { storage.releaseRoom(for: alice, of: session) }
    #expect(isFull(for: last) && !isFull(for: places[0]))
    storage.releaseRoom(for: alice, of: session)
    storage.remove([places[0]], in: session)
    #expect(!isFull(for: last))
  }
}

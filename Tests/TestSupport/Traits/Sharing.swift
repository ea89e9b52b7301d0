import Foundation
import Synchronization
package import Testing

/// A trait that lets the tests of a suite share objects, from their first use to the end of the last test.
package struct SharingTrait: SuiteTrait, TestScoping {
  package func provideScope(
    for test: Test, testCase: Test.Case?, performing function: @concurrent @Sendable () async throws -> Void
  ) async throws {
    let suite = Shared()
    // Releasing them with the last task that inherited the value may be too late: at exit, OpenSSL's locks are gone.
    defer { suite.end() }
    try await Shared.$ofSuite.withValue(suite) { try await function() }
  }
}

extension Trait where Self == SharingTrait {
  /// For suites whose tests use only their own sessions, origins and tasks.
  package static var sharing: Self { Self() }
}

/// The objects of a suite that is `.sharing`.
package final class Shared: Sendable {
  @TaskLocal fileprivate static var ofSuite: Shared?
  private let things = Mutex<[String: Kept]>([:])

  /// An object and the number of its uses. The tests of a suite use the object one at a time.
  private struct Kept: @unchecked Sendable {
    let thing: AnyObject
    var uses = 0
  }

  fileprivate func end() {
    let things = things.withLock { things in
      defer { things = [:] }
      return things
    }
    withExtendedLifetime(things) {}
  }

  /// Returns the suite's object of this name.
  /// - Parameters:
  ///   - uses: The number of uses after which it is replaced.
  ///   - isGood: Whether it may be used again. If not, it is replaced.
  ///   - make: Makes the object.
  package static func one<Thing: AnyObject>(
    _ name: String = "", uses: Int = .max, isGood: (Thing) -> Bool = { _ in true }, _ make: () throws -> Thing
  ) throws -> Thing {
    guard let suite = ofSuite else {
      throw Socket.Failure(operation: "this suite needs the trait .sharing", errno: 0)
    }
    let key = "\(Thing.self) \(name)"
    let kept = suite.things.withLock { $0[key] }
    if let kept, kept.uses < uses, let thing = kept.thing as? Thing, isGood(thing) {
      suite.things.withLock { $0[key]?.uses += 1 }
      return thing
    }
    let thing = try make()
    suite.things.withLock { $0[key] = Kept(thing: thing, uses: 1) }
    return thing
  }
}

extension FerryProcess {
  /// Returns the suite's shared service. A service is replaced after some uses, because connections and other state
  /// of earlier tests remain.
  /// - Parameter trustsAuthority: Whether the service trusts the authority that signed the good certificates.
  package static func ofSuite(
    networks: [String] = ["127.0.0.0/8"], trustsAuthority: Bool = false, options: [String] = []
  ) throws -> FerryProcess {
    let options = options + (trustsAuthority ? ["--ca-file", try AuthorityFile.ofSuite().path] : [])
    let name = (networks + options).joined(separator: " ")
    return try Shared.one(name, uses: 20, isGood: \.isRunning) {
      try FerryProcess(networks: networks, options: options)
    }
  }
}

/// The PEM file of the authority that signed the good certificates. The file outlives single servers.
package final class AuthorityFile {
  private let directory = TemporaryDirectory.make("authority")
  package var path: String { directory + "/authority.pem" }

  package static func ofSuite() throws -> AuthorityFile { try Shared.one { try AuthorityFile() } }

  private init() throws { try ServerFiles.write(CertificateKit.shared().authority, to: path) }

  deinit { try? FileManager.default.removeItem(atPath: directory) }
}

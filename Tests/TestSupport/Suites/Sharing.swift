import Foundation
import Synchronization
package import Testing

/// What the tests of a suite have in common: made when the first of them asks for it, and gone with the last.
package struct SharingTrait: SuiteTrait, TestScoping {
  package func provideScope(
    for test: Test, testCase: Test.Case?, performing function: @concurrent @Sendable () async throws -> Void
  ) async throws {
    let suite = Shared()
    // Not whenever the last task is freed that inherited it: the process may be at its exit by then, and OpenSSL's locks gone.
    defer { suite.end() }
    try await Shared.$ofSuite.withValue(suite) { try await function() }
  }
}

extension Trait where Self == SharingTrait {
  /// For suites whose tests look at what is theirs alone: their own sessions, origins and tasks.
  package static var sharing: Self { Self() }
}

/// What is kept for a suite that is `.sharing`.
package final class Shared: Sendable {
  @TaskLocal fileprivate static var ofSuite: Shared?
  private let things = Mutex<[String: Kept]>([:])

  /// It goes from one test to the next, one at a time.
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

  /// The suite's only thing of that name.
  /// - Parameters:
  ///   - uses: another is made after so many.
  ///   - isGood: another is made where it is not.
  ///   - make: makes it.
  package static func one<Thing: AnyObject>(
    _ name: String = "", uses: Int = .max, isGood: (Thing) -> Bool = { _ in true }, _ make: () throws -> Thing
  ) throws -> Thing {
    guard let suite = ofSuite else { throw Socket.Failure(operation: "this suite is not .sharing", errno: 0) }
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
  /// The suite's service. Now and then it is a new one: what tests leave behind, such as connections, is not to become much.
  /// - Parameter trustsAuthority: whether it has the certificate of the authority that signed what is good.
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

/// The PEM file of the authority that signed what is good, for who reads it longer than one server is there.
package final class AuthorityFile {
  private let directory = TemporaryDirectory.make("authority")
  package var path: String { directory + "/authority.pem" }

  package static func ofSuite() throws -> AuthorityFile { try Shared.one { try AuthorityFile() } }

  private init() throws { try ServerFiles.write(CertificateKit.shared().authority, to: path) }

  deinit { try? FileManager.default.removeItem(atPath: directory) }
}

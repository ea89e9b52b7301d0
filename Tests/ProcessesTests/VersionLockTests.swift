import TestSupport
import Testing

@testable import Processes

/// Two objects that open the file separately stand for two processes.
@Suite struct VersionLockTests {
  private let path = TemporaryDirectory.make("ferry-presence") + "/file"

  private func make(_ number: Int) throws -> VersionLock {
    try #require(VersionLock(path: path, number: number))
  }

  @Test func `other processes are visible by number`() throws {
    let (old, same, new) = (try make(3), try make(3), try make(5))
    #expect(!new.hasHolders(below: 5))
    old.lock()
    same.lock()
    new.lock()
    #expect(new.hasHolders(below: 4) && !new.hasHolders(below: 3) && !new.hasHolders(below: 0))
    #expect(!old.hasHolders(below: 3) && old.hasHolders(below: 6))
    old.unlock()
    #expect(new.hasHolders(below: 5))
    same.unlock()
    #expect(!new.hasHolders(below: 5))
  }

  @Test func `ended process is no longer visible`() throws {
    let new = try make(5)
    var old: VersionLock? = try make(0)
    old?.lock()
    #expect(new.hasHolders(below: 1))
    old = nil
    #expect(!new.hasHolders(below: 5))
  }

  /// A `FairFileLock` uses the same file.
  @Test func `version lock does not block a turnstile`() throws {
    let turnstile = try #require(FairFileLock(path: path))
    let presence = try make(0)
    presence.lock()
    #expect(turnstile.lock(patience: .seconds(5)))
    #expect(!(try make(1)).hasHolders(below: 0) && presence.hasHolders(below: 1) == false)
    turnstile.unlock()
  }
}

import Foundation
import TestSupport
import Testing

@testable import Processes

@Suite struct DirectoryLockTests {
  private let directory = TemporaryDirectory.make("ferry-directory")

  @Test func `owner of a lock is visible to others`() throws {
    #expect(DirectoryLock.owner(of: directory) == nil)
    var lock: DirectoryLock? = try DirectoryLock(directory, version: "1")
    let owner = try #require(DirectoryLock.owner(of: directory))
    #expect(owner.pid == getpid() && owner.version == "1" && owner.isAlive)
    // Reading the owner takes no lock.
    #expect(throws: DirectoryLock.Failure.inUse) { try DirectoryLock(directory, version: "2") }
    #expect(DirectoryLock.owner(of: directory)?.version == "1")
    withExtendedLifetime(lock) {}
    lock = nil
    #expect(DirectoryLock.owner(of: directory) == nil, "the content left in the file names no owner")
    lock = try DirectoryLock(directory, version: "2")
    #expect(DirectoryLock.owner(of: directory)?.version == "2")
    withExtendedLifetime(lock) {}
  }

  /// A lock without a version hides its owner. The file may still name the previous one.
  @Test func `lock without a version names no owner`() throws {
    var lock: DirectoryLock? = try DirectoryLock(directory, version: "1")
    withExtendedLifetime(lock) {}
    lock = nil
    lock = try DirectoryLock(directory)
    #expect(DirectoryLock.owner(of: directory) == nil)
    #expect(throws: DirectoryLock.Failure.inUse) { try DirectoryLock(directory) }
    withExtendedLifetime(lock) {}
  }

  @Test func `copied descriptor does not keep the lock`() throws {
    var lock: DirectoryLock? = try DirectoryLock(directory, version: "1")
    let copy = try DescriptorCopy(of: directory + "/" + DirectoryLock.name)
    withExtendedLifetime(lock) {}
    lock = nil
    #expect(DirectoryLock.owner(of: directory) == nil)
    lock = try DirectoryLock(directory)
    withExtendedLifetime((lock, copy)) {}
  }
}

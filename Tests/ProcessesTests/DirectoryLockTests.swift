import Foundation
import TestSupport
import Testing

@testable import Processes

@Suite struct DirectoryLockTests {
  private let directory = TemporaryDirectory.make("ferry-directory")

  @Test func whoKeepsItIsTold() throws {
    #expect(DirectoryLock.owner(of: directory) == nil)
    var lock: DirectoryLock? = try DirectoryLock(directory, version: "1")
    let owner = try #require(DirectoryLock.owner(of: directory))
    #expect(owner.pid == getpid() && owner.version == "1" && owner.isAlive)
    // A look keeps nobody out, and lets nobody in.
    #expect(throws: DirectoryLock.Failure.inUse) { try DirectoryLock(directory, version: "2") }
    #expect(DirectoryLock.owner(of: directory)?.version == "1")
    withExtendedLifetime(lock) {}
    lock = nil
    #expect(DirectoryLock.owner(of: directory) == nil, "what is left in the file is no owner")
    lock = try DirectoryLock(directory, version: "2")
    #expect(DirectoryLock.owner(of: directory)?.version == "2")
    withExtendedLifetime(lock) {}
  }

  /// Who is not to be stopped by others says nothing; nor does what the one before has left speak for it.
  @Test func whoSaysNothingIsNotTold() throws {
    var lock: DirectoryLock? = try DirectoryLock(directory, version: "1")
    withExtendedLifetime(lock) {}
    lock = nil
    lock = try DirectoryLock(directory)
    #expect(DirectoryLock.owner(of: directory) == nil)
    #expect(throws: DirectoryLock.Failure.inUse) { try DirectoryLock(directory) }
    withExtendedLifetime(lock) {}
  }

  @Test func aCopyOfTheDescriptorKeepsNobodyOut() throws {
    var lock: DirectoryLock? = try DirectoryLock(directory, version: "1")
    let copy = try DescriptorCopy(of: directory + "/" + DirectoryLock.name)
    withExtendedLifetime(lock) {}
    lock = nil
    #expect(DirectoryLock.owner(of: directory) == nil)
    lock = try DirectoryLock(directory)
    withExtendedLifetime((lock, copy)) {}
  }
}

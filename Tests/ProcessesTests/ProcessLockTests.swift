import Foundation
import TestSupport
import Testing

@testable import Processes

@Suite struct ProcessLockTests {
  private final class Directory {
    let path = TemporaryDirectory.make("ferry-lock")
    init() throws { try make() }
    deinit { try? FileManager.default.removeItem(atPath: path) }
    func make() throws {
      try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    }
    var lock: String { path + "/worker.lock" }
  }

  @Test func `lock has one holder`() throws {
    let directory = try Directory()
    var first = ProcessLock(path: directory.lock, version: "1")
    #expect(first != nil)
    #expect(ProcessLock(path: directory.lock, version: "2") == nil)
    // The refused attempt has not changed the file.
    #expect(ProcessLock.owner(path: directory.lock)?.version == "1")
    first = nil
    #expect(ProcessLock(path: directory.lock, version: "2") != nil)
  }

  /// A process that removes the files of a dead one must not look like it.
  @Test func `lock without a version names no owner`() throws {
    let directory = try Directory()
    do { _ = ProcessLock(path: directory.lock, version: "1") }
    let beat = ProcessLock.lastHeartbeat(path: directory.lock)
    let lock = try #require(ProcessLock(path: directory.lock, version: nil))
    #expect(ProcessLock(path: directory.lock, version: "2") == nil)
    #expect(ProcessLock.owner(path: directory.lock) == nil)
    #expect(ProcessLock.lastHeartbeat(path: directory.lock) == beat)
    withExtendedLifetime(lock) {}
  }

  @Test func `owner of a lock is visible to others`() throws {
    let directory = try Directory()
    #expect(ProcessLock.owner(path: directory.lock) == nil)
    #expect(!FileManager.default.fileExists(atPath: directory.lock), "a read does not create the file")
    let lock = ProcessLock(path: directory.lock, version: "1.2 \"b\"")
    let owner = try #require(ProcessLock.owner(path: directory.lock))
    #expect(owner.pid == getpid())
    #expect(owner.version == "1.2 \"b\"")
    #expect(owner.isAlive)
    withExtendedLifetime(lock) {}
  }

  @Test func `reading the owner keeps the lock`() throws {
    let directory = try Directory()
    let lock = ProcessLock(path: directory.lock, version: "1")
    for _ in 0..<100 { #expect(ProcessLock.owner(path: directory.lock) != nil) }
    // A POSIX lock would have ended with the first closed descriptor.
    #expect(ProcessLock(path: directory.lock, version: "2") == nil)
    withExtendedLifetime(lock) {}
  }

  @Test func `content left in the file names no owner`() throws {
    let directory = try Directory()
    var lock = ProcessLock(path: directory.lock, version: "a version that is longer than the next one")
    withExtendedLifetime(lock) {}
    lock = nil
    #expect(FileManager.default.fileExists(atPath: directory.lock))
    #expect(ProcessLock.owner(path: directory.lock) == nil)
    lock = ProcessLock(path: directory.lock, version: "2")
    #expect(ProcessLock.owner(path: directory.lock)?.version == "2")
    withExtendedLifetime(lock) {}
  }

  /// A process that is being started has copies of all descriptors for a moment.
  @Test func `copied descriptor does not keep the lock`() throws {
    let directory = try Directory()
    var lock = ProcessLock(path: directory.lock, version: "1")
    let copy = try DescriptorCopy(of: directory.lock)
    withExtendedLifetime(lock) {}
    lock = nil
    #expect(ProcessLock.owner(path: directory.lock) == nil)
    lock = ProcessLock(path: directory.lock, version: "2")
    #expect(lock != nil)
    withExtendedLifetime(copy) {}
  }

  @Test func `lock file is private JSON`() throws {
    let directory = try Directory()
    let lock = ProcessLock(path: directory.lock, version: "1")
    let content = try JSONSerialization.jsonObject(
      with: Data(contentsOf: URL(fileURLWithPath: directory.lock)))
    let fields = try #require(content as? [String: Any])
    #expect(Set(fields.keys) == ["pid", "startTime", "version"])
    #expect(fields["pid"] as? Int32 == getpid())
    var status = stat()
    #expect(stat(directory.lock, &status) == 0)
    #expect(status.st_mode & 0o777 == 0o600)
    withExtendedLifetime(lock) {}
  }

  @Test func `deleted or replaced directory is noticed`() throws {
    let directory = try Directory()
    let lock = try #require(ProcessLock(path: directory.lock, version: "1"))
    #expect(lock.isInPlace)
    try FileManager.default.removeItem(atPath: directory.path)
    #expect(!lock.isInPlace)
    try directory.make()
    #expect(!lock.isInPlace)
    let other = try #require(ProcessLock(path: directory.lock, version: "2"))
    #expect(other.isInPlace)
    #expect(!lock.isInPlace)
  }

  @Test func `lock without a possible file is refused`() throws {
    let directory = try Directory()
    #expect(ProcessLock(path: directory.path + "/missing/lock", version: "1") == nil)
    #expect(ProcessLock(path: directory.path, version: "1") == nil)
    #expect(ProcessLock.owner(path: directory.path) == nil)
  }

  /// The process id alone does not identify a process.
  @Test func `process with a reused id is not the owner`() throws {
    let startTime = try #require(ProcessStatus(of: "self")?.runningSince)
    #expect(ProcessLock.Owner(pid: getpid(), startTime: startTime, version: "").isAlive)
    #expect(!ProcessLock.Owner(pid: getpid(), startTime: startTime - 1, version: "").isAlive)
    // Greater than any process id (PID_MAX_LIMIT).
    #expect(!ProcessLock.Owner(pid: 4_194_305, startTime: startTime, version: "").isAlive)
  }

  private static let rest = "1 7 7 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 987654 11 12"
  @Test(
    arguments: [
      ("7 (ferry) S \(rest)\n", 987_654), ("7 (a b) c) R) S \(rest)\n", 987_654),
      ("7 (ferry) R \(rest)", 987_654), ("7 (ferry) Z \(rest)\n", nil), ("7 (ferry) X \(rest)\n", nil),
      ("7 (ferry) S 1 7", nil), ("", nil),
    ] as [(String, UInt64?)])
  func `start time is parsed`(_ line: String, _ expected: UInt64?) {
    #expect(ProcessStatus(line: line)?.runningSince == expected)
  }
}

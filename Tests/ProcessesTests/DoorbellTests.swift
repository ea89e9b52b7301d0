import EventLoop
import Foundation
import Synchronization
import TestSupport
import Testing

@testable import Processes

@Suite struct DoorbellTests {
  /// A directory that goes with its test.
  private final class Directory: Sendable {
    let path: String
    private let root = TemporaryDirectory.make("ferry-bell")
    init(depth: Int = 0) throws {
      path = root + String(repeating: "/a-directory-with-a-name", count: depth)
      try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    }
    deinit { try? FileManager.default.removeItem(atPath: root) }
    var bell: String { path + "/bell" }
  }

  @Test func aRingIsTakenOnce() throws {
    let directory = try Directory()
    let bell = try Doorbell(path: directory.bell)
    #expect(!bell.take())
    #expect(Doorbell.ring(directory.bell))
    #expect(bell.take())
    #expect(!bell.take())
    bell.close()
  }

  @Test func aPathMayBeLongerThanAnAddress() throws {
    let directory = try Directory(depth: 20)
    #expect(directory.bell.utf8.count > 400)
    let bell = try Doorbell(path: directory.bell)
    #expect(Doorbell.ring(directory.bell))
    #expect(bell.take())
    bell.close()
    #expect(!FileManager.default.fileExists(atPath: directory.bell))
  }

  @Test func aNameMayNot() throws {
    let directory = try Directory()
    #expect(throws: Doorbell.Failure(operation: "open", errno: ENAMETOOLONG)) {
      try Doorbell(path: directory.path + "/" + String(repeating: "b", count: 120))
    }
  }

  @Test func whatIsNoDirectoryIsNoPlaceForABell() throws {
    let directory = try Directory()
    #expect(throws: Doorbell.Failure(operation: "open", errno: ENOENT)) {
      try Doorbell(path: directory.path + "/missing/bell")
    }
  }

  @Test func aSocketThatNobodyHearsIsReplaced() throws {
    let directory = try Directory()
    let dead = try Doorbell(path: directory.bell)
    #expect(rename(directory.bell, directory.path + "/kept") == 0)
    dead.close()
    #expect(rename(directory.path + "/kept", directory.bell) == 0)
    #expect(!Doorbell.ring(directory.bell), "refused: the name is there, the listener is not")
    let bell = try Doorbell(path: directory.bell)
    #expect(Doorbell.ring(directory.bell))
    #expect(bell.take())
    bell.close()
  }

  @Test func anotherFileIsNotReplaced() throws {
    let directory = try Directory()
    try Data("mine".utf8).write(to: URL(fileURLWithPath: directory.bell))
    #expect(throws: Doorbell.Failure(operation: "bind", errno: EADDRINUSE)) {
      try Doorbell(path: directory.bell)
    }
    #expect(try Data(contentsOf: URL(fileURLWithPath: directory.bell)) == Data("mine".utf8))
  }

  @Test func nobodyHearsWhereNoBellIs() throws {
    let directory = try Directory()
    #expect(!Doorbell.ring(directory.bell))
    #expect(!Doorbell.ring(directory.path + "/missing/bell"))
  }

  @Test func onlyItsOwnerMayRing() throws {
    let directory = try Directory()
    let bell = try Doorbell(path: directory.bell)
    var status = stat()
    #expect(lstat(directory.bell, &status) == 0)
    #expect(status.st_mode & 0o077 == 0)
    bell.close()
  }

  @Test func closingLeavesASuccessorsName() throws {
    let directory = try Directory()
    let first = try Doorbell(path: directory.bell)
    let second = try Doorbell(path: directory.bell)
    first.close()
    #expect(Doorbell.ring(directory.bell))
    #expect(second.take())
    second.close()
    #expect(!FileManager.default.fileExists(atPath: directory.bell))
  }

  @Test func aThousandRingsAreOneLook() throws {
    let directory = try Directory()
    let bell = try Doorbell(path: directory.bell)
    let pull = DoorbellPull(path: directory.bell)
    for _ in 0..<1000 { #expect(pull.ring()) }
    #expect(bell.take())
    #expect(!bell.take())
    #expect(pull.ring())
    #expect(bell.take())
    bell.close()
  }

  @Test func aPullFindsTheBellThatComesLater() throws {
    let directory = try Directory()
    let pull = DoorbellPull(path: directory.bell)
    #expect(!pull.ring())
    for _ in 0..<3 {
      let bell = try Doorbell(path: directory.bell)
      #expect(pull.ring())
      #expect(bell.take())
      bell.close()
      #expect(!pull.ring())
    }
  }

  @Test func aPullFindsTheDirectoryThatReplacesItsOwn() throws {
    let directory = try Directory()
    let pull = DoorbellPull(path: directory.bell)
    let first = try Doorbell(path: directory.bell)
    #expect(pull.ring())
    first.close()
    try FileManager.default.removeItem(atPath: directory.path)
    #expect(!pull.ring())
    try FileManager.default.createDirectory(atPath: directory.path, withIntermediateDirectories: true)
    let second = try Doorbell(path: directory.bell)
    #expect(pull.ring())
    #expect(second.take())
    second.close()
  }

  private actor Listener {
    nonisolated let loop: EventLoop
    nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }
    init(_ loop: EventLoop) { self.loop = loop }
    func listen(to bell: Doorbell, _ onRing: @escaping @Sendable () -> Void) {
      bell.listen(on: loop, onRing)
    }
    func close(_ bell: Doorbell) { bell.close() }
  }

  @Test func aLoopIsWokenByEachRing() async throws {
    let directory = try Directory()
    let bell = try Doorbell(path: directory.bell)
    let loop = EventLoop(name: "test-bell")
    loop.start()
    let listener = Listener(loop)
    let (rings, told) = AsyncStream.makeStream(of: Bool.self)
    await listener.listen(to: bell) { told.yield(loop.isOnLoop && !bell.take()) }
    var heard = rings.makeAsyncIterator()
    let pull = DoorbellPull(path: directory.bell)
    for _ in 0..<5 {
      #expect(pull.ring())
      #expect(await heard.next() == true, "on the loop, after what waited was taken")
    }
    await listener.close(bell)
    #expect(!pull.ring())
    // Its descriptor's number is free for another bell, of which the same loop is told.
    let next = try Doorbell(path: directory.bell)
    await listener.listen(to: next) { told.yield(false) }
    #expect(pull.ring())
    #expect(await heard.next() == false)
    await listener.close(next)
    await loop.stopAndJoin()
  }
}

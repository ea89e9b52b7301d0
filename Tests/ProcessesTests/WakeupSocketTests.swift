import EventLoop
import Foundation
import Synchronization
import TestSupport
import Testing

@testable import Processes

@Suite struct WakeupSocketTests {
  /// A directory that is deleted after its test.
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

  @Test func `wakeup is received once`() throws {
    let directory = try Directory()
    let bell = try WakeupSocket(path: directory.bell)
    #expect(!bell.drain())
    #expect(WakeupSocket.wake(directory.bell))
    #expect(bell.drain())
    #expect(!bell.drain())
    bell.close()
  }

  @Test func `path may be longer than a socket address`() throws {
    let directory = try Directory(depth: 20)
    #expect(directory.bell.utf8.count > 400)
    let bell = try WakeupSocket(path: directory.bell)
    #expect(WakeupSocket.wake(directory.bell))
    #expect(bell.drain())
    bell.close()
    #expect(!FileManager.default.fileExists(atPath: directory.bell))
  }

  @Test func `name must fit into a socket address`() throws {
    let directory = try Directory()
    #expect(throws: WakeupSocket.Failure(operation: "open", errno: ENAMETOOLONG)) {
      try WakeupSocket(path: directory.path + "/" + String(repeating: "b", count: 120))
    }
  }

  @Test func `missing directory is an error`() throws {
    let directory = try Directory()
    #expect(throws: WakeupSocket.Failure(operation: "open", errno: ENOENT)) {
      try WakeupSocket(path: directory.path + "/missing/bell")
    }
  }

  @Test func `socket without a listener is replaced`() throws {
    let directory = try Directory()
    let dead = try WakeupSocket(path: directory.bell)
    #expect(rename(directory.bell, directory.path + "/kept") == 0)
    dead.close()
    #expect(rename(directory.path + "/kept", directory.bell) == 0)
    #expect(!WakeupSocket.wake(directory.bell), "connection refused: the file exists without a listener")
    let bell = try WakeupSocket(path: directory.bell)
    #expect(WakeupSocket.wake(directory.bell))
    #expect(bell.drain())
    bell.close()
  }

  @Test func `file that is not a socket is not replaced`() throws {
    let directory = try Directory()
    try Data("mine".utf8).write(to: URL(fileURLWithPath: directory.bell))
    #expect(throws: WakeupSocket.Failure(operation: "bind", errno: EADDRINUSE)) {
      try WakeupSocket(path: directory.bell)
    }
    #expect(try Data(contentsOf: URL(fileURLWithPath: directory.bell)) == Data("mine".utf8))
  }

  @Test func `wakeup of a missing socket is not received`() throws {
    let directory = try Directory()
    #expect(!WakeupSocket.wake(directory.bell))
    #expect(!WakeupSocket.wake(directory.path + "/missing/bell"))
  }

  @Test func `only the owner may send wakeups`() throws {
    let directory = try Directory()
    let bell = try WakeupSocket(path: directory.bell)
    var status = stat()
    #expect(lstat(directory.bell, &status) == 0)
    #expect(status.st_mode & 0o077 == 0)
    bell.close()
  }

  @Test func `close keeps the socket of a successor`() throws {
    let directory = try Directory()
    let first = try WakeupSocket(path: directory.bell)
    let second = try WakeupSocket(path: directory.bell)
    first.close()
    #expect(WakeupSocket.wake(directory.bell))
    #expect(second.drain())
    second.close()
    #expect(!FileManager.default.fileExists(atPath: directory.bell))
  }

  @Test func `thousand wakeups are received as one`() throws {
    let directory = try Directory()
    let bell = try WakeupSocket(path: directory.bell)
    let pull = WakeupClient(path: directory.bell)
    for _ in 0..<1000 { #expect(pull.wake()) }
    #expect(bell.drain())
    #expect(!bell.drain())
    #expect(pull.wake())
    #expect(bell.drain())
    bell.close()
  }

  @Test func `client finds a socket that is created later`() throws {
    let directory = try Directory()
    let pull = WakeupClient(path: directory.bell)
    #expect(!pull.wake())
    for _ in 0..<3 {
      let bell = try WakeupSocket(path: directory.bell)
      #expect(pull.wake())
      #expect(bell.drain())
      bell.close()
      #expect(!pull.wake())
    }
  }

  @Test func `client finds a socket in a replaced directory`() throws {
    let directory = try Directory()
    let pull = WakeupClient(path: directory.bell)
    let first = try WakeupSocket(path: directory.bell)
    #expect(pull.wake())
    first.close()
    try FileManager.default.removeItem(atPath: directory.path)
    #expect(!pull.wake())
    try FileManager.default.createDirectory(atPath: directory.path, withIntermediateDirectories: true)
    let second = try WakeupSocket(path: directory.bell)
    #expect(pull.wake())
    #expect(second.drain())
    second.close()
  }

  private actor Listener {
    nonisolated let loop: EventLoop
    nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }
    init(_ loop: EventLoop) { self.loop = loop }
    func listen(to bell: WakeupSocket, _ onRing: @escaping @Sendable () -> Void) {
      bell.listen(on: loop, onRing)
    }
    func close(_ bell: WakeupSocket) { bell.close() }
  }

  @Test func `loop receives each wakeup`() async throws {
    let directory = try Directory()
    let bell = try WakeupSocket(path: directory.bell)
    let loop = EventLoop(name: "test-bell")
    loop.start()
    let listener = Listener(loop)
    let (rings, told) = AsyncStream.makeStream(of: Bool.self)
    await listener.listen(to: bell) { told.yield(loop.isOnLoop && !bell.drain()) }
    var heard = rings.makeAsyncIterator()
    let pull = WakeupClient(path: directory.bell)
    for _ in 0..<5 {
      #expect(pull.wake())
      #expect(
        await heard.next() == true, "the callback runs on the loop, after all pending wakeups were read")
    }
    await listener.close(bell)
    #expect(!pull.wake())
    // The next socket reuses the number of the closed descriptor on the same loop.
    let next = try WakeupSocket(path: directory.bell)
    await listener.listen(to: next) { told.yield(false) }
    #expect(pull.wake())
    #expect(await heard.next() == false)
    await listener.close(next)
    await loop.stopAndJoin()
  }
}

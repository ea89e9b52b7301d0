import EventLoop
import Foundation
import Synchronization
import TestSupport
import Testing

@testable import Processes

/// Two objects that open the file separately stand for two processes.
@Suite(.endsInTime, .blocking) struct FairFileLockTests {
  private let path = TemporaryDirectory.make("ferry-turnstile") + "/turn"

  private func make() throws -> FairFileLock { try #require(FairFileLock(path: path)) }

  /// Enters and leaves without a pause until it is stopped, and counts its entries.
  private final class GreedyLocker: Sendable {
    private let entries = Atomic<Int>(0)
    private let mustStop = Atomic<Bool>(false)
    private let ended = Gate()

    init(_ fileLock: FairFileLock) {
      POSIXThread.spawn(name: "test-glutton") { [self] in
        while !mustStop.load(ordering: .relaxed) {
          guard fileLock.lock(patience: .seconds(30)) else { break }
          usleep(500)
          entries.add(1, ordering: .relaxed)
          fileLock.unlock()
        }
        ended.open()
      }
    }

    var count: Int { entries.load(ordering: .relaxed) }
    func stop() {
      mustStop.store(true, ordering: .relaxed)
      ended.wait()
    }
  }

  @Test func `waiting process precedes the last holder`() throws {
    let glutton = GreedyLocker(try make())
    let other = try make()
    while glutton.count < 10 { usleep(100) }
    var overtaken: [Int] = []
    for _ in 0..<50 {
      let before = glutton.count
      #expect(other.lock(patience: .seconds(30)))
      overtaken.append(glutton.count - before)
      other.unlock()
    }
    glutton.stop()
    // The holder at that time, and one more if it locked the entrance first.
    let few = overtaken.count { $0 <= 2 }
    #expect(few >= 45, "\(overtaken)")
  }

  @Test func `lock has one holder`() throws {
    let inside = Mutex((now: 0, most: 0))
    let turnstiles = try (0..<3).map { _ in try make() }
    let gates = turnstiles.map { _ in Gate() }
    for (fileLock, gate) in zip(turnstiles, gates) {
      POSIXThread.spawn(name: "test-turn") {
        for _ in 0..<200 where fileLock.lock(patience: .seconds(30)) {
          inside.withLock { inside in
            inside.now += 1
            inside.most = max(inside.most, inside.now)
          }
          sched_yield()
          inside.withLock { $0.now -= 1 }
          fileLock.unlock()
        }
        gate.open()
      }
    }
    for gate in gates { #expect(gate.wait()) }
    #expect(inside.withLock { $0.most } == 1)
  }

  @Test func `waiting ends after the limit and keeps its place`() throws {
    let (first, second) = (try make(), try make())
    #expect(first.lock(patience: .zero))
    for _ in 0..<3 { #expect(!second.lock(patience: .milliseconds(20))) }
    first.unlock()
    #expect(second.lock(patience: .seconds(30)))
    second.unlock()
    // The lock is free: the thread released it after its caller had given up.
    #expect(first.lock(patience: .seconds(30)))
    first.unlock()
  }

  @Test func `lock of a caller that gave up is released`() throws {
    let (first, second) = (try make(), try make())
    #expect(first.lock(patience: .zero))
    #expect(!second.lock(patience: .milliseconds(20)))
    first.unlock()
    for _ in 0..<3 {
      #expect(first.lock(patience: .seconds(30)))
      first.unlock()
    }
  }

  @Test func `dead process no longer has the lock`() throws {
    let fileLock = try make()
    // A process that locks the room's byte and never unlocks it.
    let lock =
      "import fcntl,os,struct,sys,time;f=os.open(sys.argv[1],os.O_RDWR);"
      + "fcntl.fcntl(f,37,struct.pack('hhqqi4x',1,0,0,2,0));os.write(1,b'in');time.sleep(600)"
    let output = Pipe()
    let child = try ChildProcess("/usr/bin/env", ["python3", "-c", lock, path], output: .pipe(output))
    #expect(output.fileHandleForReading.availableData == Data("in".utf8))
    #expect(!fileLock.lock(patience: .milliseconds(20)))
    child.send(SIGKILL)
    child.waitUntilExit()
    #expect(fileLock.lock(patience: .seconds(30)))
    fileLock.unlock()
  }

  @Test func `file that cannot be opened gives no turnstile`() {
    #expect(FairFileLock(path: path + "/nowhere/turn") == nil)
  }

  /// Each wait is a voluntary context switch of this thread (getrusage(2)).
  @Test func `entering a free turnstile does not wait`() throws {
    let fileLock = try make()
    func waits() -> Int {
      // RUSAGE_THREAD, which the module Glibc does not have.
      let thisThread: Int32 = 1
      var usage = rusage()
      getrusage(thisThread, &usage)
      return usage.ru_nvcsw
    }
    let before = waits()
    for _ in 0..<500 {
      #expect(fileLock.lock(patience: .seconds(5)))
      fileLock.unlock()
    }
    #expect(waits() - before < 50)
  }
}

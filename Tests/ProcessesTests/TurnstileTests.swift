import EventLoop
import Foundation
import Synchronization
import TestSupport
import Testing

@testable import Processes

/// Two that open the file by themselves are to each other as two processes are.
@Suite(.endsInTime, .blocking) struct TurnstileTests {
  private let path = TemporaryDirectory.make("ferry-turnstile") + "/turn"

  private func make() throws -> Turnstile { try #require(Turnstile(path: path)) }

  /// Goes in and out without a pause until told to stop, and counts.
  private final class Glutton: Sendable {
    private let entries = Atomic<Int>(0)
    private let mustStop = Atomic<Bool>(false)
    private let ended = Gate()

    init(_ turnstile: Turnstile) {
      Thread.spawn(name: "test-glutton") { [self] in
        while !mustStop.load(ordering: .relaxed) {
          guard turnstile.enter(patience: .seconds(30)) else { break }
          usleep(500)
          entries.add(1, ordering: .relaxed)
          turnstile.leave()
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

  @Test func whoWaitsGoesBeforeWhoWasInLast() throws {
    let glutton = Glutton(try make())
    let other = try make()
    while glutton.count < 10 { usleep(100) }
    var overtaken: [Int] = []
    for _ in 0..<50 {
      let before = glutton.count
      #expect(other.enter(patience: .seconds(30)))
      overtaken.append(glutton.count - before)
      other.leave()
    }
    glutton.stop()
    // The one that was in, and one more where it came to the entrance first.
    let few = overtaken.count { $0 <= 2 }
    #expect(few >= 45, "\(overtaken)")
  }

  @Test func onlyOneIsIn() throws {
    let inside = Mutex((now: 0, most: 0))
    let turnstiles = try (0..<3).map { _ in try make() }
    let gates = turnstiles.map { _ in Gate() }
    for (turnstile, gate) in zip(turnstiles, gates) {
      Thread.spawn(name: "test-turn") {
        for _ in 0..<200 where turnstile.enter(patience: .seconds(30)) {
          inside.withLock { inside in
            inside.now += 1
            inside.most = max(inside.most, inside.now)
          }
          sched_yield()
          inside.withLock { $0.now -= 1 }
          turnstile.leave()
        }
        gate.open()
      }
    }
    for gate in gates { #expect(gate.wait()) }
    #expect(inside.withLock { $0.most } == 1)
  }

  @Test func patienceHasAnEndAndAPlaceInTheLineIsKept() throws {
    let (first, second) = (try make(), try make())
    #expect(first.enter(patience: .zero))
    for _ in 0..<3 { #expect(!second.enter(patience: .milliseconds(20))) }
    first.leave()
    #expect(second.enter(patience: .seconds(30)))
    second.leave()
    // Nobody is in: what was forgotten was given back.
    #expect(first.enter(patience: .seconds(30)))
    first.leave()
  }

  @Test func whatIsForgottenIsGivenBack() throws {
    let (first, second) = (try make(), try make())
    #expect(first.enter(patience: .zero))
    #expect(!second.enter(patience: .milliseconds(20)))
    first.leave()
    for _ in 0..<3 {
      #expect(first.enter(patience: .seconds(30)))
      first.leave()
    }
  }

  @Test func aProcessThatDiesIsInNoMore() throws {
    let turnstile = try make()
    // The room's byte, locked by a process that never gives it back.
    let lock =
      "import fcntl,os,struct,sys,time;f=os.open(sys.argv[1],os.O_RDWR);"
      + "fcntl.fcntl(f,37,struct.pack('hhqqi4x',1,0,0,2,0));os.write(1,b'in');time.sleep(600)"
    let output = Pipe()
    let child = try ChildProcess("/usr/bin/env", ["python3", "-c", lock, path], output: .pipe(output))
    #expect(output.fileHandleForReading.availableData == Data("in".utf8))
    #expect(!turnstile.enter(patience: .milliseconds(20)))
    child.send(SIGKILL)
    child.waitUntilExit()
    #expect(turnstile.enter(patience: .seconds(30)))
    turnstile.leave()
  }

  @Test func aFileThatCannotBeHadIsNoTurnstile() {
    #expect(Turnstile(path: path + "/nowhere/turn") == nil)
  }

  /// Each wait is a voluntary context switch of this thread (getrusage(2)).
  @Test func `entering a free turnstile does not wait`() throws {
    let turnstile = try make()
    func waits() -> Int {
      // RUSAGE_THREAD, which the module Glibc does not have.
      let thisThread: Int32 = 1
      var usage = rusage()
      getrusage(thisThread, &usage)
      return usage.ru_nvcsw
    }
    let before = waits()
    for _ in 0..<500 {
      #expect(turnstile.enter(patience: .seconds(5)))
      turnstile.leave()
    }
    #expect(waits() - before < 50)
  }
}

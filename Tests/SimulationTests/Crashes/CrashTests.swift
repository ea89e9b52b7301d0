import EventLoop
import TestSupport
import Testing

@testable import TransferService

/// A crash at each commit of scripted lives: of the service, of the worker, of both, with as many of the changes that waited in
/// the database as there may be. Another process takes over, and all must come to its end.
@Suite(.endsInTime) struct CrashTests {
  @Test(arguments: Life.all) func aLifeWithoutACrash(_ life: Life) async {
    for commitsFirst in [true, false] {
      let (faults, commits) = await onAThread {
        let world = life.run(commitsFirst: commitsFirst)
        return (world.faults, world.commits)
      }
      #expect(faults == [] && commits > 3, "\(faults)")
    }
  }

  @Test(arguments: Life.all, [true, false])
  func aCrashAtEveryCommit(_ life: Life, _ commitsFirst: Bool) async {
    let (faults, crashes) = await onAThread { Self.crashes(of: life, commitsFirst) }
    #expect(crashes > 3)
    #expect(faults == [], "\(faults.count) faults")
  }

  /// Facts wait for room, requests are refused, and nothing is lost or done twice.
  @Test(arguments: Life.all, [true, false])
  func aFullDiskAtEveryCommit(_ life: Life, _ commitsFirst: Bool) async {
    let faults = await onAThread {
      (0..<life.run(commitsFirst: commitsFirst).commits).flatMap { count in
        life.run(commitsFirst: commitsFirst, roomLeft: count).faults.map { "after \(count): \($0)" }
      }
    }
    #expect(faults == [])
  }

  /// A database that forgets is found out: the checks could find something.
  @Test(arguments: Life.all) func whatIsLostIsFound(_ life: Life) async {
    let found = await onAThread {
      (0..<life.run(commitsFirst: true).commits).contains { commit in
        let crash = World.Crash(commit: commit, victims: .both, forgets: true)
        return !life.run(commitsFirst: true, crash).faults.isEmpty
      }
    }
    #expect(found)
  }

  private static func crashes(of life: Life, _ commitsFirst: Bool) -> (faults: [String], crashes: Int) {
    var (faults, crashes): ([String], Int) = ([], 0)
    func run(_ crash: World.Crash) -> World {
      let world = life.run(commitsFirst: commitsFirst, crash)
      // Where time is drawn by lot, a life may have fewer commits.
      if world.hasCrashed { crashes += 1 }
      faults += world.faults.map { "\(crash): \($0)" }
      return world
    }
    for commit in 0..<life.run(commitsFirst: commitsFirst).commits {
      for victims in World.Victims.allCases where life.hasWorker || victims == .service {
        // Each kind of crash in one of the two orders, or this takes minutes.
        guard !victims.isForAWhile || !commitsFirst else { continue }
        var crash = World.Crash(commit: commit, victims: victims)
        var waited = 0
        while crash.keeping <= waited {
          waited = run(crash).waitedAtCrash
          crash.keeping += 1
        }
        guard commitsFirst else { continue }
        crash = World.Crash(commit: commit, victims: victims, isWorkersFault: true)
        if victims == .worker { _ = run(crash) }
        crash = World.Crash(commit: commit, victims: victims, again: 1 + commit % 5)
        if !victims.isForAWhile { _ = run(crash) }
      }
    }
    return (faults, crashes)
  }

  /// A world has no task of its own beside those that it runs.
  private func onAThread<T: Sendable>(_ body: @escaping @Sendable () -> T) async -> T {
    await withCheckedContinuation { continuation in
      Thread.spawn(name: "world") { continuation.resume(returning: body()) }
    }
  }
}

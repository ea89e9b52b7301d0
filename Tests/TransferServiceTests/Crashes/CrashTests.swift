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
      #expect(faults == [] && commits > 3)
    }
  }

  @Test(arguments: Life.all, [true, false])
  func aCrashAtEveryCommit(_ life: Life, _ commitsFirst: Bool) async {
    let (faults, crashes) = await onAThread { Self.crashes(of: life, commitsFirst) }
    #expect(crashes > 3)
    #expect(faults == [], "\(faults.count) faults")
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
        var crash = World.Crash(commit: commit, victims: victims)
        var waited = 0
        while crash.keeping <= waited {
          waited = run(crash).waitedAtCrash
          crash.keeping += 1
        }
        crash.keeping = 0
        crash.isWorkersFault = true
        if victims == .worker { _ = run(crash) }
        for later in [1, 4] {
          crash.again = later
          if !victims.isForAWhile { _ = run(crash) }
        }
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

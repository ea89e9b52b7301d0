import EventLoop
import TestSupport
import Testing

@testable import TransferService

/// A crash of the service, of the worker, or of both at each commit of a scripted scenario. Each possible number of pending changes still
/// reaches the database. Another process takes over, and everything must end.
@Suite(.endsInTime) struct CrashTests {
  @Test(arguments: CrashScenario.all) func `scenario without a crash has no faults`(_ life: CrashScenario)
    async
  {
    for commitsFirst in [true, false] {
      let (faults, commits) = await onAThread {
        let world = life.run(commitsFirst: commitsFirst)
        return (world.faults, world.commits)
      }
      #expect(faults == [] && commits > 3, "\(faults)")
    }
  }

  @Test(arguments: CrashScenario.all, [true, false])
  func `crash at any commit causes no faults`(_ life: CrashScenario, _ commitsFirst: Bool) async {
    let (faults, crashes) = await onAThread { Self.crashes(of: life, commitsFirst) }
    #expect(crashes > 3)
    #expect(faults == [], "\(faults.count) faults")
  }

  /// Facts wait for disk space, requests are refused, and nothing is lost or done twice.
  @Test(arguments: CrashScenario.all, [true, false])
  func `full disk at any commit causes no faults`(_ life: CrashScenario, _ commitsFirst: Bool) async {
    let faults = await onAThread {
      (0..<life.run(commitsFirst: commitsFirst).commits).flatMap { count in
        life.run(commitsFirst: commitsFirst, roomLeft: count).faults.map { "after \(count): \($0)" }
      }
    }
    #expect(faults == [])
  }

  /// A database that loses commits is detected, so the checks can find errors.
  @Test(arguments: CrashScenario.all) func `lost commit is detected`(_ life: CrashScenario) async {
    let found = await onAThread {
      (0..<life.run(commitsFirst: true).commits).contains { commit in
        let crash = CrashWorld.Crash(commit: commit, victims: .both, forgets: true)
        return !life.run(commitsFirst: true, crash).faults.isEmpty
      }
    }
    #expect(found)
  }

  private static func crashes(of life: CrashScenario, _ commitsFirst: Bool) -> (
    faults: [String], crashes: Int
  ) {
    var (faults, crashes): ([String], Int) = ([], 0)
    func run(_ crash: CrashWorld.Crash) -> CrashWorld {
      let world = life.run(commitsFirst: commitsFirst, crash)
      // Random retry delays may change the number of commits.
      if world.hasCrashed { crashes += 1 }
      faults += world.faults.map { "\(crash): \($0)" }
      return world
    }
    for commit in 0..<life.run(commitsFirst: commitsFirst).commits {
      for victims in CrashWorld.Victims.allCases where life.hasWorker || victims == .service {
        // Each kind of crash uses only one of the two orders. Otherwise the test takes minutes.
        guard !victims.isForAWhile || !commitsFirst else { continue }
        var crash = CrashWorld.Crash(commit: commit, victims: victims)
        var waited = 0
        while crash.keeping <= waited {
          waited = run(crash).waitedAtCrash
          crash.keeping += 1
        }
        guard commitsFirst else { continue }
        crash = CrashWorld.Crash(commit: commit, victims: victims, isWorkersFault: true)
        if victims == .worker { _ = run(crash) }
        crash = CrashWorld.Crash(commit: commit, victims: victims, again: 1 + commit % 5)
        if !victims.isForAWhile { _ = run(crash) }
      }
    }
    return (faults, crashes)
  }

  /// The simulation must run outside of any Swift task.
  private func onAThread<T: Sendable>(_ body: @escaping @Sendable () -> T) async -> T {
    await withCheckedContinuation { continuation in
      POSIXThread.spawn(name: "world") { continuation.resume(returning: body()) }
    }
  }
}

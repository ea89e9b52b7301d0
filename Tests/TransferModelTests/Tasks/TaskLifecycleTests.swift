import TestSupport
import Testing

@testable import TransferModel

@Suite struct TaskLifecycleTests {
  enum Call: CaseIterable, Sendable { case resume, suspend, cancel, complete }

  private func apply(_ call: Call, to lifecycle: inout TaskLifecycle) -> TaskLifecycle.Action {
    switch call {
    case .resume: lifecycle.resume()
    case .suspend: lifecycle.suspend()
    case .cancel: lifecycle.cancel()
    case .complete: lifecycle.complete()
    }
  }

  struct Row: Sendable {
    let from: TaskLifecycle
    let call: Call
    let action: TaskLifecycle.Action
    let to: TaskLifecycle

    init(
      _ from: (TaskState, Int), _ call: Call, _ action: TaskLifecycle.Action, _ to: (TaskState, Int)
    ) {
      self.from = TaskLifecycle(state: from.0, suspendCount: from.1)
      self.call = call
      self.action = action
      self.to = TaskLifecycle(state: to.0, suspendCount: to.1)
    }
  }

  static let rows = [
    Row((.suspended, 1), .resume, .run, (.running, 0)), Row((.suspended, 2), .resume, .none, (.suspended, 1)),
    Row((.suspended, 1), .suspend, .none, (.suspended, 2)),
    Row((.suspended, 3), .cancel, .cancel, (.canceling, 3)),
    Row((.suspended, 1), .complete, .complete, (.completed, 1)),
    Row((.running, 0), .resume, .none, (.running, 0)),
    Row((.running, 0), .suspend, .pause, (.suspended, 1)),
    Row((.running, 0), .cancel, .cancel, (.canceling, 0)),
    Row((.running, 0), .complete, .complete, (.completed, 0)),
    Row((.canceling, 0), .resume, .none, (.canceling, 0)),
    Row((.canceling, 1), .resume, .none, (.canceling, 1)),
    Row((.canceling, 0), .suspend, .none, (.canceling, 0)),
    Row((.canceling, 0), .cancel, .none, (.canceling, 0)),
    Row((.canceling, 0), .complete, .complete, (.completed, 0)),
    Row((.completed, 0), .resume, .none, (.completed, 0)),
    Row((.completed, 0), .suspend, .none, (.completed, 0)),
    Row((.completed, 1), .cancel, .none, (.completed, 1)),
    Row((.completed, 0), .complete, .none, (.completed, 0)),
  ]

  @Test(arguments: rows)
  func `call has the action and the state of the table`(_ row: Row) {
    var lifecycle = row.from
    #expect(apply(row.call, to: &lifecycle) == row.action)
    #expect(lifecycle == row.to)
  }

  @Test func `new task is suspended once`() {
    #expect(TaskLifecycle() == TaskLifecycle(state: .suspended, suspendCount: 1))
  }

  @Test func suspensionsNest() {
    var lifecycle = TaskLifecycle()
    for _ in 0..<3 { #expect(lifecycle.suspend() == .none) }
    for _ in 0..<3 { #expect(lifecycle.resume() == .none) }
    #expect(lifecycle.resume() == .run)
    #expect(lifecycle.resume() == .none)
    #expect(lifecycle.suspend() == .pause)
    #expect(lifecycle.resume() == .run)
  }

  @Test(arguments: [UInt64(11), 12, 13])
  func randomWalksKeepTheInvariants(_ seed: UInt64) throws {
    var generator = SplitMix64(seed: seed)
    var lifecycle = TaskLifecycle()
    // The state that follows from the calls and actions alone.
    var owed = 1
    var (isMoving, cancels, ends, lives) = (false, 0, 0, 0)
    for step in 0..<10_000 {
      let before = lifecycle
      // Ends are rare, so that life cycles are long.
      let call: Call = [.resume, .resume, .resume, .suspend, .suspend, .suspend, .cancel, .complete][
        min(7, Int.random(in: 0..<40, using: &generator) / 5)]
      let action = apply(call, to: &lifecycle)
      if cancels == 0, ends == 0 {
        if call == .suspend { owed += 1 }
        if call == .resume { owed = max(0, owed - 1) }
      }
      switch action {
      case .none: break
      case .run:
        try #require(!isMoving && owed == 0 && cancels == 0 && ends == 0, "step \(step)")
        isMoving = true
      case .pause:
        try #require(isMoving && owed == 1, "step \(step)")
        isMoving = false
      case .cancel:
        cancels += 1
        isMoving = false
      case .complete:
        ends += 1
        isMoving = false
      }
      try #require(cancels <= 1 && ends <= 1, "step \(step)")
      try #require((lifecycle.state == .running) == isMoving, "step \(step)")
      try #require(lifecycle.state != .running || lifecycle.suspendCount == 0, "step \(step)")
      try #require(lifecycle.suspendCount >= 0, "step \(step)")
      if lifecycle.state == .suspended { try #require(lifecycle.suspendCount == owed, "step \(step)") }
      if before.state == .completed { try #require(lifecycle == before && action == .none, "step \(step)") }
      if before.state == .canceling {
        try #require([.canceling, .completed].contains(lifecycle.state), "step \(step)")
      }
      if lifecycle.state == .completed, Int.random(in: 0..<8, using: &generator) == 0 {
        lifecycle = TaskLifecycle()
        (owed, isMoving, cancels, ends) = (1, false, 0, 0)
        lives += 1
      }
    }
    #expect(lives > 50)
  }
}

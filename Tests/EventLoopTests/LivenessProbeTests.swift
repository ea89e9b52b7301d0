import Synchronization
import TestSupport
import Testing

@testable import EventLoop

@Suite(.blocking) struct LivenessProbeTests {
  /// A part that responds when the test says so.
  private final class Patient: Sendable {
    private struct State { var answers: [@Sendable () -> Void] = [] }
    private let state = Mutex(State())
    var asked: Int { state.withLock { $0.answers.count } }
    func part(_ name: String) -> LivenessProbe.Component {
      LivenessProbe.Component(name) { answer in self.state.withLock { $0.answers.append(answer) } }
    }
    func answer(_ round: Int) { state.withLock { $0.answers[round] }() }
  }
  private let beats = Gate()

  private func hasBeaten() -> Bool { beats.wait(seconds: 0) }

  @Test func `check succeeds when all parts have responded`() {
    let (a, b) = (Patient(), Patient())
    let pulse = LivenessProbe([a.part("a"), b.part("b")]) { [beats] in beats.open() }
    #expect(pulse.check() == [])
    a.answer(0)
    #expect(!hasBeaten())
    // A second response of one part does not count for another.
    a.answer(0)
    #expect(!hasBeaten())
    b.answer(0)
    #expect(hasBeaten() && !hasBeaten())
  }

  /// The check names a part that hangs, and does not ask the others again.
  @Test func `part that hangs is named and fails the check`() {
    let (a, b) = (Patient(), Patient())
    let pulse = LivenessProbe([a.part("a"), b.part("b")]) { [beats] in beats.open() }
    _ = pulse.check()
    a.answer(0)
    for _ in 0..<3 { #expect(pulse.check() == ["b"]) }
    #expect(a.asked == 1 && b.asked == 1 && !hasBeaten())
    // The part responds late.
    b.answer(0)
    #expect(hasBeaten())
    #expect(pulse.check() == [])
    a.answer(1)
    // A late response to the round before does not count.
    b.answer(0)
    #expect(!hasBeaten())
    b.answer(1)
    #expect(hasBeaten())
  }

  @Test func `loop responds while it runs`() async {
    let (loop, gate, isHeld) = (EventLoop(name: "test"), Gate(), Gate())
    let pulse = LivenessProbe([loop.livenessComponent]) { [beats] in beats.open() }
    loop.start()
    _ = pulse.check()
    #expect(beats.wait())
    loop.perform {
      isHeld.open()
      gate.wait()
    }
    isHeld.wait()
    _ = pulse.check()
    #expect(pulse.check() == ["test"] && !hasBeaten())
    gate.open()
    #expect(beats.wait())
    await loop.stopAndJoin()
  }
}

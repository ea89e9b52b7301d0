import Synchronization
import TestSupport
import Testing

@testable import EventLoop

@Suite(.blocking) struct PulseTests {
  /// Answers when it is told to.
  private final class Patient: Sendable {
    private struct State { var answers: [@Sendable () -> Void] = [] }
    private let state = Mutex(State())
    var asked: Int { state.withLock { $0.answers.count } }
    func part(_ name: String) -> Pulse.Part {
      Pulse.Part(name) { answer in self.state.withLock { $0.answers.append(answer) } }
    }
    func answer(_ round: Int) { state.withLock { $0.answers[round] }() }
  }
  private let beats = Gate()

  private func hasBeaten() -> Bool { beats.wait(seconds: 0) }

  @Test func itBeatsOnceAllHaveAnswered() {
    let (a, b) = (Patient(), Patient())
    let pulse = Pulse([a.part("a"), b.part("b")]) { [beats] in beats.open() }
    #expect(pulse.beat() == [])
    a.answer(0)
    #expect(!hasBeaten())
    // Who answers twice does not answer for another.
    a.answer(0)
    #expect(!hasBeaten())
    b.answer(0)
    #expect(hasBeaten() && !hasBeaten())
  }

  /// One that hangs is named, and the others are not asked again and again.
  @Test func whoHangsIsNamedAndKeepsItFromBeating() {
    let (a, b) = (Patient(), Patient())
    let pulse = Pulse([a.part("a"), b.part("b")]) { [beats] in beats.open() }
    _ = pulse.beat()
    a.answer(0)
    for _ in 0..<3 { #expect(pulse.beat() == ["b"]) }
    #expect(a.asked == 1 && b.asked == 1 && !hasBeaten())
    // It lives after all.
    b.answer(0)
    #expect(hasBeaten())
    #expect(pulse.beat() == [])
    a.answer(1)
    // What is said late of the round before says nothing of this one.
    b.answer(0)
    #expect(!hasBeaten())
    b.answer(1)
    #expect(hasBeaten())
  }

  @Test func aLoopAnswersWhileItGoesRound() async {
    let (loop, gate, isHeld) = (EventLoop(name: "test"), Gate(), Gate())
    let pulse = Pulse([loop.pulse]) { [beats] in beats.open() }
    loop.start()
    _ = pulse.beat()
    #expect(beats.wait())
    loop.perform {
      isHeld.open()
      gate.wait()
    }
    isHeld.wait()
    _ = pulse.beat()
    #expect(pulse.beat() == ["test"] && !hasBeaten())
    gate.open()
    #expect(beats.wait())
    await loop.stopAndJoin()
  }
}

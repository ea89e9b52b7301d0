import TestSupport
import Testing

@testable import Processes

/// Two that open the file by themselves are to each other as two processes are.
@Suite struct PresenceTests {
  private let path = TemporaryDirectory.make("ferry-presence") + "/file"

  private func make(_ number: Int) throws -> Presence { try #require(Presence(path: path, number: number)) }

  @Test func othersAreSeenByTheirNumbers() throws {
    let (old, same, new) = (try make(3), try make(3), try make(5))
    #expect(!new.hasOthers(below: 5))
    old.begin()
    same.begin()
    new.begin()
    #expect(new.hasOthers(below: 4) && !new.hasOthers(below: 3) && !new.hasOthers(below: 0))
    #expect(!old.hasOthers(below: 3) && old.hasOthers(below: 6))
    old.end()
    #expect(new.hasOthers(below: 5))
    same.end()
    #expect(!new.hasOthers(below: 5))
  }

  @Test func whoIsGoneIsSeenNoMore() throws {
    let new = try make(5)
    var old: Presence? = try make(0)
    old?.begin()
    #expect(new.hasOthers(below: 1))
    old = nil
    #expect(!new.hasOthers(below: 5))
  }

  /// The file is a turnstile's as well.
  @Test func itTakesNobodysTurn() throws {
    let turnstile = try #require(Turnstile(path: path))
    let presence = try make(0)
    presence.begin()
    #expect(turnstile.enter(patience: .seconds(5)))
    #expect(!(try make(1)).hasOthers(below: 0) && presence.hasOthers(below: 1) == false)
    turnstile.leave()
  }
}

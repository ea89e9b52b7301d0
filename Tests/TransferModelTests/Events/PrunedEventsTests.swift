import Testing
import TransferModel

/// The part of the journal that may be deleted, and the readers that must learn of it.
@Suite struct PrunedEventsTests {
  private static func row(_ last: Int64, _ second: Int64, held: Bool = false) -> JournalRowAge {
    JournalRowAge(last: last, time: Timestamp(seconds: second), isHeld: held)
  }

  @Test(
    arguments: [
      ([], nil),
      ([row(3, 10)], 3),
      ([row(3, 10), row(4, 20), row(9, 21)], 4),
      // Only the first rows may be deleted. An old row after a young one stays, and so does every row after a held one.
      ([row(3, 30), row(4, 10)], nil),
      ([row(3, 10), row(4, 10, held: true), row(5, 10)], 3),
      ([row(3, 10, held: true), row(5, 10)], nil),
    ] as [([JournalRowAge], Int64?)])
  func `only old rows before a held row are pruned`(_ rows: [JournalRowAge], _ through: Int64?) {
    #expect(PrunedEvents(of: rows, upTo: Timestamp(seconds: 20))?.through == through)
  }

  @Test func `newest time of the pruned events is kept`() {
    let pruned = PrunedEvents(of: [Self.row(1, 15), Self.row(2, 12)], upTo: Timestamp(seconds: 20))
    #expect(pruned == PrunedEvents(through: 2, time: Timestamp(seconds: 15)))
    let later = PrunedEvents(through: 9, time: Timestamp(seconds: 14))
    #expect(pruned?.merged(with: later) == PrunedEvents(through: 9, time: Timestamp(seconds: 15)))
  }

  @Test func `only readers that may have missed events are notified`() {
    let pruned = PrunedEvents(through: 10, time: Timestamp(seconds: 1000))
    #expect(
      pruned.affects(from: .tenant(.default), after: 0)
        && pruned.affects(from: .tenant(.default), after: 9))
    #expect(!pruned.affects(from: .tenant(.default), after: 10))
    #expect(!PrunedEvents.none.affects(from: .tenant(.default), after: 0))
    for (second, isTold) in [(999, true), (1001, true), (1002, false)] as [(Int64, Bool)] {
      let time = Timestamp(seconds: second)
      #expect(
        pruned.affects(from: .task(TaskID(at: time, random: (1, 1))), after: 0) == isTold)
      #expect(
        pruned.affects(from: .session(SessionID(at: time, random: (1, 1))), after: 0) == isTold)
    }
    #expect(pruned.affects(from: .session(.shared), after: 0))
  }

  @Test func `time of a stored event is read`() {
    let time = Timestamp(microseconds: 1_800_000_000_123_000)
    var writer = ServerSentEventWriter()
    for sequence in [7, 8] as [Int64] {
      writer.append(
        event: TransferEvent(.sessionDidBecomeInvalid, at: time, session: .shared, .invalidated),
        sequence: sequence)
    }
    #expect(ServerSentEvents.time(of: Array(writer.bytes.prefix(400))) == time)
    #expect(ServerSentEvents.time(of: Array("id: 1\n".utf8)) == nil)
  }
}

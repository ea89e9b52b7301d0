import Testing

@testable import HTTPServer

/// Who wakes the loop for a body, and when: each time costs two changes of threads.
@Suite struct HandlerMeetingTests {
  enum Step {
    /// So many bytes come, as the loop has it.
    case come(Int)
    case end
    /// The handler reads; whether the loop has to go on for it, and how many bytes it gets. Nil: none are there yet.
    case read(goesOn: Bool, gets: Int?)
  }

  private static let high = 256 * 1024

  @Test(
    arguments: [
      // The body has come along with the head.
      [.come(5), .end, .read(goesOn: false, gets: 5), .read(goesOn: false, gets: 0)],
      [.end, .read(goesOn: false, gets: 0)],
      // A part of it has.
      [.come(5), .read(goesOn: true, gets: 5), .come(5), .read(goesOn: false, gets: 5)],
      // None has: the loop waits for somebody to want it, once.
      [.read(goesOn: true, gets: nil), .come(5), .read(goesOn: false, gets: nil), .come(5)],
      // So much has come that the loop has stopped.
      [.read(goesOn: true, gets: nil), .come(5), .come(high), .read(goesOn: true, gets: high)],
      [.read(goesOn: true, gets: nil), .come(5), .come(high - 1), .read(goesOn: false, gets: high - 1)],
    ] as [[Step]])
  func theLoopIsWokenWhereItWaits(_ steps: [Step]) async {
    let meeting = HandlerMeeting()
    for (place, step) in steps.enumerated() {
      switch step {
      case .come(let count):
        let taking = [UInt8](repeating: 1, count: count).withUnsafeBytes { meeting.take($0) }
        #expect(taking == .taken, "step \(place)")
      case .end: meeting.endBody()
      case .read(let goesOn, let count):
        let (reader, chunk) = await Self.reader()
        #expect(meeting.read(reader) == goesOn, "step \(place)")
        if let count { #expect(await chunk.value?.count ?? 0 == count, "step \(place)") }
      }
    }
    meeting.end()
  }

  private typealias Reader = CheckedContinuation<[UInt8]?, Never>

  /// One who waits for bytes, and what that one gets.
  private static func reader() async -> (Reader, Task<[UInt8]?, Never>) {
    let (readers, feed) = AsyncStream.makeStream(of: Reader.self)
    let chunk = Task { await withCheckedContinuation { feed.yield($0) } }
    for await reader in readers { return (reader, chunk) }
    fatalError("somebody waits")
  }
}

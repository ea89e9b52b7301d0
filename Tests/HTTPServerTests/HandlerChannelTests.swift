import Testing

@testable import HTTPServer

/// The wake-ups of the loop for a body. Each costs two changes of threads.
@Suite struct HandlerChannelTests {
  enum Step {
    /// This many bytes arrive on the loop.
    case come(Int)
    case end
    /// The handler reads: whether the loop must resume, and how many bytes the handler gets; `nil` if there are none yet.
    case read(goesOn: Bool, gets: Int?)
  }

  private static let high = 256 * 1024

  @Test(
    arguments: [
      // The body has arrived with the head.
      [.come(5), .end, .read(goesOn: false, gets: 5), .read(goesOn: false, gets: 0)],
      [.end, .read(goesOn: false, gets: 0)],
      // A part of the body has arrived.
      [.come(5), .read(goesOn: true, gets: 5), .come(5), .read(goesOn: false, gets: 5)],
      // Nothing has arrived. The loop waits for the first read only.
      [.read(goesOn: true, gets: nil), .come(5), .read(goesOn: false, gets: nil), .come(5)],
      // The loop has stopped because the buffer is full.
      [.read(goesOn: true, gets: nil), .come(5), .come(high), .read(goesOn: true, gets: high)],
      [.read(goesOn: true, gets: nil), .come(5), .come(high - 1), .read(goesOn: false, gets: high - 1)],
    ] as [[Step]])
  func `read wakes the loop only if it waits`(_ steps: [Step]) async {
    let meeting = HandlerChannel()
    for (place, step) in steps.enumerated() {
      switch step {
      case .come(let count):
        let taking = [UInt8](repeating: 1, count: count).withUnsafeBytes { meeting.enqueue($0) }
        #expect(taking == .taken, "step \(place)")
      case .end: meeting.endBody()
      case .read(let goesOn, let count):
        let (reader, chunk) = await Self.reader()
        #expect(meeting.read(reader) == goesOn, "step \(place)")
        if let count { #expect(await chunk.value?.count ?? 0 == count, "step \(place)") }
      }
    }
    meeting.finish()
  }

  private typealias Reader = CheckedContinuation<[UInt8]?, Never>

  /// Returns a waiting reader, and a task with the bytes that it gets.
  private static func reader() async -> (Reader, Task<[UInt8]?, Never>) {
    let (readers, feed) = AsyncStream.makeStream(of: Reader.self)
    let chunk = Task { await withCheckedContinuation { feed.yield($0) } }
    for await reader in readers { return (reader, chunk) }
    fatalError("the chunk's reader did not arrive")
  }
}

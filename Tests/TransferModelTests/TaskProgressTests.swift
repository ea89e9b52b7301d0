import JSON
import Testing

@testable import TransferModel

@Suite struct TaskProgressTests {
  private static func progress(
    sent: Int64, of toSend: Int64, received: Int64, of toReceive: Int64
  ) -> TaskProgress {
    var progress = TaskProgress()
    progress.countOfBytesSent = sent
    progress.countOfBytesExpectedToSend = toSend
    progress.countOfBytesReceived = received
    progress.countOfBytesExpectedToReceive = toReceive
    return progress
  }

  @Test(
    arguments: [
      ([0, 0, 0, -1], nil), ([0, -1, 0, 10], nil), ([5, 10, 0, -1], nil), ([0, 0, 0, 0], 1),
      ([0, 0, 0, 10], 0),
      ([0, 0, 5, 10], 0.5), ([10, 10, 0, 10], 0.5), ([10, 10, 10, 10], 1), ([0, 0, 25, 10], 1),
      ([3, 4, 0, 0], 0.75),
    ] as [([Int64], Double?)])
  func isTheShareOfAllBytes(_ counts: [Int64], _ expected: Double?) throws {
    let progress = Self.progress(sent: counts[0], of: counts[1], received: counts[2], of: counts[3])
    #expect(progress.fractionCompleted == expected)
    #expect(try JSONParser.parse(progress.json)["fractionCompleted"]?.double == expected)
  }

  /// The origin announces the length: whatever it says, the process has to outlive it.
  @Test func survivesTheLargestAnnouncedLength() async {
    await #expect(processExitsWith: .success) {
      var progress = TaskProgress()
      progress.countOfBytesExpectedToSend = 10
      progress.countOfBytesExpectedToReceive = .max
      guard let fraction = progress.fractionCompleted, (0...1).contains(fraction) else { fatalError() }
    }
  }
}

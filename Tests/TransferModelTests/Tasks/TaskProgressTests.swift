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
  func `fraction is the share of all bytes`(_ counts: [Int64], _ expected: Double?) throws {
    let progress = Self.progress(sent: counts[0], of: counts[1], received: counts[2], of: counts[3])
    #expect(progress.fractionCompleted() == expected)
    #expect(try JSONParser.parse(progress.json)["fractionCompleted"]?.double == expected)
  }

  /// An origin may announce any length, and the service must survive it.
  @Test func `largest announced length does not overflow`() async {
    await #expect(processExitsWith: .success) {
      var progress = TaskProgress()
      progress.countOfBytesExpectedToSend = 10
      progress.countOfBytesExpectedToReceive = .max
      guard let fraction = progress.fractionCompleted(), (0...1).contains(fraction) else { fatalError() }
    }
  }

  /// An estimate replaces an unknown total until the count exceeds it.
  @Test(
    arguments: [
      ((0, 0), (25, -1), (-1, 100), 0.25), ((0, 0), (100, -1), (-1, 100), 1),
      ((0, 0), (101, -1), (-1, 100), nil),
      ((0, 0), (25, 50), (-1, 100), 0.5), ((5, -1), (0, -1), (10, -1), nil),
      ((5, -1), (0, -1), (10, 10), 0.25),
      ((11, -1), (0, 10), (10, -1), nil), ((0, 0), (0, -1), (-1, 0), 1),
    ] as [((Int64, Int64), (Int64, Int64), (Int64, Int64), Double?)])
  func `estimate replaces an unknown total`(
    _ sent: (Int64, Int64), _ received: (Int64, Int64), _ guess: (Int64, Int64), _ expected: Double?
  ) {
    var specification = TaskSpecification(kind: .data, request: TransferRequest(url: "http://a/"))
    specification.preferences.countOfBytesClientExpectsToSend = guess.0
    specification.preferences.countOfBytesClientExpectsToReceive = guess.1
    var task = TransferTask(
      id: ID(high: 1, low: 1), sessionID: .shared, taskIdentifier: 1, createdAt: Timestamp(seconds: 1),
      specification: specification)
    (task.progress.countOfBytesSent, task.progress.countOfBytesExpectedToSend) = sent
    (task.progress.countOfBytesReceived, task.progress.countOfBytesExpectedToReceive) = received
    #expect(task.fractionCompleted == expected)
    // A successful task is complete, whatever the estimate. The fraction of a failed one is unknown.
    _ = task.lifecycle.complete()
    let known = task.progress.fractionCompleted()
    #expect(task.fractionCompleted == known ?? 1)
    task.error = TransferError(.timedOut, "late")
    #expect(task.fractionCompleted == known)
  }
}

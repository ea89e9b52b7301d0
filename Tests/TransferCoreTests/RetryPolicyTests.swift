import TestSupport
import Testing
import TransferModel

@testable import TransferCore

@Suite struct RetryPolicyTests {
  private static let start = Timestamp("2026-11-21T07:00:00Z") ?? Timestamp(seconds: 0)
  private static let lost = TransferError(.networkConnectionLost, "lost")

  private static func policy(backoff: Double = 1, attempts: Int? = nil, timeout: Double = 604_800)
    -> RetryPolicy
  {
    var configuration = RetryConfiguration()
    configuration.backoff = backoff
    configuration.maximumAttempts = attempts
    return RetryPolicy(configuration: configuration, timeoutIntervalForResource: timeout)
  }

  private static func next(
    _ policy: RetryPolicy, _ attempt: RetryPolicy.Attempt, after seconds: Double = 0, jitter: Double = 0
  ) -> RetryPolicy.NextStep {
    policy.next(after: attempt, firstStart: start, now: start.adding(seconds: seconds), jitter: jitter)
  }

  // MARK: Which failures

  private static let passing: Set<URLErrorCode> = [
    .timedOut, .cannotFindHost, .cannotConnectToHost, .networkConnectionLost, .dnsLookupFailed,
    .notConnectedToInternet, .resourceUnavailable, .dataNotAllowed, .secureConnectionFailed,
    .badServerResponse,
    .zeroByteResource, .cannotWriteToFile, .cannotCreateFile, .cannotCloseFile, .cannotMoveFile,
  ]

  @Test(arguments: URLErrorCode.allCases)
  func `only temporary error codes are retried`(_ code: URLErrorCode) {
    let next = Self.next(Self.policy(), .init(error: TransferError(code, ""), number: 1))
    #expect(next == (Self.passing.contains(code) ? .retry(after: 0.5) : .end))
  }

  @Test(arguments: FerryErrorCode.allCases)
  func `FerryErrorDomain codes are never retried`(_ code: FerryErrorCode) {
    #expect(Self.next(Self.policy(), .init(error: TransferError(code, ""), number: 1)) == .end)
  }

  @Test(arguments: 100...599)
  func `only statuses 429 and 503 are retried`(_ status: Int) {
    let next = Self.next(Self.policy(), .init(status: status, number: 1))
    #expect(next == (status == 429 || status == 503 ? .retry(after: 0.5) : .end))
  }

  @Test func `error takes precedence over the status`() {
    let refused = TransferError(.serverCertificateUntrusted, "")
    #expect(Self.next(Self.policy(), .init(error: refused, status: 503, number: 1)) == .end)
    #expect(Self.next(Self.policy(), .init(error: Self.lost, status: 200, number: 1)) == .retry(after: 0.5))
    // The Retry-After of a 503 counts even if its body broke off. That of a 200 does not.
    for (status, wait) in [(503, 90.0), (200, 0.5)] {
      let attempt = RetryPolicy.Attempt(error: Self.lost, status: status, retryAfter: "90", number: 1)
      #expect(Self.next(Self.policy(), attempt) == .retry(after: wait))
    }
  }

  @Test func `session without a retry configuration retries`() {
    let policy = RetryPolicy(configuration: nil, timeoutIntervalForResource: 60)
    #expect(Self.next(policy, .init(error: Self.lost, number: 1)) == .retry(after: 0.5))
  }

  // MARK: Backoff

  @Test(
    arguments: [
      (1, 1, 0.0, 0.5), (1, 1, 0.5, 0.75), (1, 2, 0, 1), (1, 3, 0, 2), (1, 3, 0.5, 3), (1, 9, 0, 128),
      (1, 10, 0, 150), (1, 11, 0, 150), (1, 1_000_000, 0.5, 225), (0.001, 1, 0, 0.0005), (0.001, 63, 0, 150),
      (0.001, 1_000_000, 0, 150), (200, 1, 0, 100), (200, 2, 0, 150), (3600, 1, 0, 1800), (3600, 5, 0, 1800),
    ] as [(Double, Int, Double, Double)])
  func `backoff grows to its limit`(_ backoff: Double, _ number: Int, _ jitter: Double, _ expected: Double) {
    let next = Self.next(
      Self.policy(backoff: backoff), .init(error: Self.lost, number: number), jitter: jitter)
    #expect(next == .retry(after: expected))
  }

  @Test(
    arguments: [
      ("120", 0, .retry(after: 120)), ("120", 0.5, .retry(after: 126)), (" 120 ", 0, .retry(after: 120)),
      ("Sat, 21 Nov 2026 08:00:00 GMT", 0, .retry(after: 3600)),
      ("Saturday, 21-Nov-26 08:00:00 GMT", 0, .retry(after: 3600)),
      ("Sat Nov 21 08:00:00 2026", 0.5, .retry(after: 3780)),
      // Unusable values: backoff.
      ("0", 0, .retry(after: 0.5)), ("Sat, 21 Nov 2026 06:00:00 GMT", 0, .retry(after: 0.5)),
      ("soon", 0, .retry(after: 0.5)), ("", 0, .retry(after: 0.5)), ("-5", 0, .retry(after: 0.5)),
      ("1.5", 0, .retry(after: 0.5)), ("1e3", 0, .retry(after: 0.5)), ("120, 120", 0, .retry(after: 0.5)),
      // Too late for the deadline: the response is the result.
      ("604800", 0, .end), ("604799", 0, .retry(after: 604_799)),
      (String(repeating: "9", count: 400), 0, .end), ("Sun, 21 Nov 2027 08:00:00 GMT", 0, .end),
    ] as [(String, Double, RetryPolicy.NextStep)])
  func `valid Retry After sets the delay`(_ field: String, _ jitter: Double, _ expected: RetryPolicy.NextStep)
  {
    for status in [429, 503] {
      let attempt = RetryPolicy.Attempt(status: status, retryAfter: field, number: 1)
      #expect(Self.next(Self.policy(), attempt, jitter: jitter) == expected)
    }
  }

  @Test func `Retry After of other statuses is ignored`() {
    for status in [200, 301, 404, 413, 500, 502, 504] {
      #expect(Self.next(Self.policy(), .init(status: status, retryAfter: "1", number: 1)) == .end)
    }
  }

  // MARK: Limits

  @Test(
    arguments: [
      (0, .retry(after: 0.5)), (59, .retry(after: 0.5)), (59.4, .retry(after: 0.5)),
      (59.5, .timeout(after: 0.5)),
      (60, .timeout(after: 0)), (1000, .timeout(after: 0)), (-1000, .retry(after: 0.5)),
    ] as [(Double, RetryPolicy.NextStep)])
  func `retry after the deadline becomes a timeout`(_ seconds: Double, _ expected: RetryPolicy.NextStep) {
    let attempt = RetryPolicy.Attempt(error: Self.lost, number: 1)
    #expect(Self.next(Self.policy(timeout: 60), attempt, after: seconds) == expected)
  }

  @Test func `jitter ends before the deadline`() throws {
    let attempt = RetryPolicy.Attempt(status: 503, retryAfter: "50", number: 1)
    guard case .retry(let wait) = Self.next(Self.policy(timeout: 52), attempt, jitter: 0.999) else {
      Issue.record("no retry was scheduled")
      return
    }
    #expect(wait > 51 && wait < 52)
  }

  @Test func `busy response is the result if no time is left`() {
    #expect(Self.next(Self.policy(timeout: 60), .init(status: 503, number: 1), after: 60) == .end)
  }

  @Test(arguments: [(1, 1, false), (2, 1, true), (2, 2, false), (5, 4, true), (5, 5, false), (5, 6, false)])
  func `last allowed attempt is not retried`(_ maximum: Int, _ number: Int, _ isRetried: Bool) {
    for attempt in [
      RetryPolicy.Attempt(error: Self.lost, number: number), .init(status: 503, number: number),
    ] {
      let next = Self.next(Self.policy(attempts: maximum), attempt)
      #expect((next != .end) == isRetried)
    }
  }

  /// The task ends with the last attempt's own error, even if the deadline has passed, too.
  @Test func `limit of attempts takes precedence over the deadline`() {
    let attempt = RetryPolicy.Attempt(error: Self.lost, number: 3)
    #expect(Self.next(Self.policy(attempts: 3, timeout: 60), attempt, after: 100) == .end)
  }
}

/// Whole tasks, in which each attempt fails in some way.
@Suite struct RetryPolicyWalkTests {
  private struct Life {
    var attempts = 0
    var retries = 0
    var ending = RetryPolicy.NextStep.end
  }

  @Test(arguments: UInt64(1)...8)
  func `random tasks keep the limits of attempts and time`(_ seed: UInt64) throws {
    var generator = SplitMix64(seed: seed)
    var endings: [Bool: Int] = [:]
    for _ in 0..<300 {
      var configuration = RetryConfiguration()
      configuration.backoff = .random(in: 0.001...10, using: &generator)
      configuration.maximumAttempts =
        Bool.random(using: &generator) ? .random(in: 1...40, using: &generator) : nil
      let life = try live(configuration, timeout: .random(in: 1...20_000, using: &generator), &generator)
      #expect(life.attempts <= configuration.maximumAttempts ?? .max)
      #expect(life.retries == life.attempts - 1)
      endings[life.ending == .end, default: 0] += 1
    }
    #expect(endings[true, default: 0] > 20 && endings[false, default: 0] > 20)
  }

  private func live(
    _ configuration: RetryConfiguration, timeout: Double, _ generator: inout SplitMix64
  ) throws -> Life {
    let policy = RetryPolicy(configuration: configuration, timeoutIntervalForResource: timeout)
    let start = Timestamp(seconds: 1_800_000_000)
    var (life, now, ceiling) = (Life(), start, configuration.backoff)
    while true {
      life.attempts += 1
      try #require(now.since(start) < timeout, "an attempt began after the deadline")
      now = now.adding(seconds: .random(in: 0...5, using: &generator))
      let asked =
        Int.random(in: 0..<4, using: &generator) == 0 ? Int.random(in: 1...900, using: &generator) : nil
      let attempt =
        asked.map { RetryPolicy.Attempt(status: 503, retryAfter: "\($0)", number: life.attempts) }
        ?? .init(error: TransferError(.networkConnectionLost, ""), number: life.attempts)
      let jitter = Double.random(in: 0..<1, using: &generator)
      life.ending = policy.next(after: attempt, firstStart: start, now: now, jitter: jitter)
      guard case .retry(let wait) = life.ending else { return life }
      if let asked {
        try #require(wait >= Double(asked) && wait <= Double(asked) * 1.1)
      } else if case let remaining = timeout - now.since(start), min(ceiling, 300) / 2 >= remaining {
        try #require(wait == remaining / 2, "the last wait is half of the remaining time")
      } else {
        try #require(wait >= min(ceiling, 300) / 2 && wait <= min(ceiling, 300))
      }
      life.retries += 1
      ceiling = min(ceiling * 2, 300)
      now = now.adding(seconds: wait)
    }
  }
}

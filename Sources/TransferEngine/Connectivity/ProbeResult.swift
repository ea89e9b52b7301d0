package import Curl
package import TransferModel

/// The result of an attempt to reach an origin, step by step.
package struct ProbeResult: Sendable, Equatable {
  package typealias Step = Reachability.Step
  package struct Failure: Sendable, Equatable {
    package let result: CurlResult
    package let message: String
    /// OpenSSL's verification result. `errno` is the error of the connection.
    package var verifyResult = 0
    package var errno = 0
    /// The egress rule that refused the destination.
    package var rule: String?
  }

  package var nameLookup: Step
  package var connect: Step
  package var tls: Step
  /// The numeric address that was connected to or tried last.
  package var remoteAddress: String?
  /// `nil` if the origin can be reached.
  package var failure: Failure?

  /// - Parameter times: The seconds from the start to the end of each step; `nil` if the step did not end.
  init(
    times: (nameLookup: Double?, connect: Double?, tls: Double?), total: Double, hasTLS: Bool,
    remoteAddress: String?, failure: Failure?
  ) {
    var begin: Double? = 0
    func step(_ end: Double?) -> Step {
      guard let start = begin else { return .skipped }
      begin = end
      return end.map { .ok(seconds: max(0, $0 - start)) } ?? .failed(seconds: max(0, total - start))
    }
    nameLookup = step(times.nameLookup)
    connect = step(times.connect)
    tls = hasTLS ? step(times.tls) : .skipped
    self.remoteAddress = remoteAddress
    self.failure = failure
  }

  /// Returns the result of an attempt that could not begin.
  static func untried(_ url: CurlURL, _ result: CurlResult, _ message: String) -> ProbeResult {
    var probe = ProbeResult(
      times: (nil, nil, nil), total: 0, hasTLS: url.scheme == "https", remoteAddress: nil,
      failure: Failure(result: result, message: message))
    probe.nameLookup = .skipped
    return probe
  }
}

extension Reachability {
  init(of url: CurlURL, _ probe: ProbeResult) {
    self.init(url: url.text)
    (nameLookup, connect, tls) = (probe.nameLookup, probe.connect, probe.tls)
    remoteAddress = probe.remoteAddress
    guard let failure = probe.failure else { return }
    if let rule = failure.rule {
      error = TransferError(
        .destinationNotPermitted, "the destination is not permitted; the rule says why",
        failingURL: url.text, rule: rule)
    } else {
      error = FailureMapping.error(
        FailureMapping.Cause(
          result: failure.result, message: failure.message, verifyResult: failure.verifyResult,
          errno: failure.errno),
        url: url.text)
    }
  }
}

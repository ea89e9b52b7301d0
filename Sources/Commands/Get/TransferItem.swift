internal import HTTPFields

/// One file of `ferry get`: a URL with the place for its body.
struct TransferItem: Sendable, Equatable {
  /// The place of a finished file.
  struct PlacedFile: Sendable, Equatable {
    let path: String
    let size: Int64
    let sha256: String
  }

  /// The reason for which a transfer does not run.
  struct Wait: Sendable, Equatable {
    /// The number of the next attempt, such as `retry 3/20`; `nil` if no attempt has failed.
    let retry: String?
    let reason: String
    /// The time of the next attempt, in seconds since 1970.
    let until: Double?

    /// Returns a text such as `retry 3/20 in 8 s: 503 Service Unavailable`.
    func text(at now: Double) -> String {
      guard let retry else { return reason }
      guard let until else { return "\(retry): \(reason)" }
      return "\(retry) in \(max(0, Int((until - now).rounded(.up)))) s: \(reason)"
    }
  }

  struct Failure: Error, Sendable, Equatable {
    let cause: CommandFailure.Cause
    let message: String
  }

  enum State: Sendable, Equatable {
    /// Not yet created in the service.
    case planned
    /// The request that creates the task is running.
    case creating
    case queued
    case waiting(Wait)
    case transferring
    /// The body is being copied from the service.
    case fetching
    case done(PlacedFile)
    /// An earlier command finished the file.
    case skipped(PlacedFile)
    case failed(Failure)
  }

  /// The URL without user and password.
  let url: String
  /// The identity of the URL and the place in this directory, over all commands.
  let key: String
  /// The digest that the user has given, in lower case.
  var sha256: String?
  /// Whether an earlier command asked for the same URL with other options.
  var hasOtherOptions = false
  var state = State.planned
  var task: String?
  var received: Int64 = 0
  /// The size of the body; `nil` if it is unknown.
  var expected: Int64?
  /// The number of failed attempts that another followed.
  var retries = 0
  var rate = RateMeter()
  /// The body at the end of the transfer, as the service reports it.
  var body: Body?

  struct Body: Sendable, Equatable {
    let suggestedName: String?
    let size: Int64
    let sha256: String
  }

  init(url: String, key: String) {
    self.url = url
    self.key = key
  }

  /// The failure of a body with another digest than the user has given; `nil` if there is none.
  func mismatch(_ digest: String) -> Failure? {
    guard let sha256, sha256 != digest else { return nil }
    return Failure(cause: .mismatch, message: "the body has the SHA-256 digest \(digest)")
  }

  var isEnded: Bool {
    switch state {
    case .done, .skipped, .failed: true
    default: false
    }
  }

  /// The last part of the URL's path, for displays before the name is known.
  var shownName: String {
    if let name = body?.suggestedName { return PlainText.safe(name) }
    let path = url.prefix { $0 != "?" && $0 != "#" }
    let last = path.split(separator: "/").last.map(String.init) ?? url
    return PlainText.safe(PercentEncoding.decode(last))
  }
}

/// A smoothed rate in bytes a second.
struct RateMeter: Sendable, Equatable {
  /// The time in which an old rate loses two thirds of its weight, in seconds.
  private static let window = 3.0
  private(set) var rate = 0.0
  private var last: (bytes: Int64, time: Double)?

  /// Records the total at a time in seconds.
  mutating func record(_ bytes: Int64, at time: Double) {
    guard let last else {
      last = (bytes, time)
      return
    }
    let period = time - last.time
    guard period >= 0.2 else { return }
    let current = Double(max(0, bytes - last.bytes)) / period
    let weight = rate == 0 ? 1 : min(1, period / Self.window)
    rate += (current - rate) * weight
    self.last = (bytes, time)
  }

  static func == (left: Self, right: Self) -> Bool { left.rate == right.rate }
}

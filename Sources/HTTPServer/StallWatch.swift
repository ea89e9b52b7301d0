internal import CMicroHTTPD

/// The detection of connections that libmicrohttpd cannot continue.
///
/// The parser of libmicrohttpd 0.9 buffers a chunk's size line until its end. If the line is longer than the connection's memory,
/// libmicrohttpd can neither read nor deliver, and asks for an immediate run forever. Version 1.0.1 refuses such a line itself.
struct StallWatch {
  /// The number of consecutive immediate runs before a check. Busy connections cause such runs too, so the number is large.
  static let patience = 64
  private var rounds = 0
  /// The exchanges that were suspended and resumed as a test.
  var suspects: [Exchange] = []

  /// Records that libmicrohttpd waits for an event or a time.
  mutating func recordWait() { rounds = 0 }

  /// Records that libmicrohttpd asks for an immediate run, and returns whether a check is due.
  mutating func recordImmediateRun() -> Bool {
    rounds += 1
    guard rounds >= Self.patience else { return false }
    rounds = 0
    return true
  }
}

extension ServerDaemon {
  /// Suspends and resumes each exchange that waits for chunks and has received none for a while. A healthy connection then waits for its
  /// socket; a stalled one does not.
  func detectStalls() {
    stalls.suspects = exchanges.values.filter { $0.isSilent() }
    for exchange in stalls.suspects { exchange.retryStalled() }
  }

  func cutStalled(_ daemon: OpaquePointer) {
    guard !stalls.suspects.isEmpty else { return }
    let suspects = stalls.suspects
    stalls.suspects = []
    for exchange in suspects where exchange.isStalled(in: daemon) {
      exchange.cut(with: .malformed("the line with the size of a chunk is too long"), in: daemon)
    }
  }
}

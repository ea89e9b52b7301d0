internal import CMicroHTTPD

/// When to look for a connection that libmicrohttpd cannot go on with.
///
/// The parser of libmicrohttpd 0.9 keeps a chunk's line until its end. Where that is longer than the connection's memory, it can
/// neither read nor give anything, and asks to be run again at once, for ever. That of 1.0.1 refuses such a line by itself.
struct StallWatch {
  /// Rounds without a rest between two looks. Connections that have nothing to do with it may be why, so they are many.
  static let patience = 64
  private var rounds = 0
  /// Those that were told to try once more.
  var suspects: [Exchange] = []

  /// libmicrohttpd waits for something.
  mutating func rest() { rounds = 0 }

  /// libmicrohttpd wants to be run again at once.
  mutating func mustLook() -> Bool {
    rounds += 1
    guard rounds >= Self.patience else { return false }
    rounds = 0
    return true
  }
}

extension ServerDaemon {
  /// Has libmicrohttpd read anew for those who send chunks of which it has given nothing for a while. One that can go on waits for its
  /// socket afterwards; one that cannot does not.
  func lookForStalls() {
    stalls.suspects = exchanges.values.filter { $0.isSilent() }
    for exchange in stalls.suspects { exchange.tryOnceMore() }
  }

  func cutStalled(_ daemon: OpaquePointer) {
    guard !stalls.suspects.isEmpty else { return }
    let suspects = stalls.suspects
    stalls.suspects = []
    for exchange in suspects where exchange.isStalled(in: daemon) {
      exchange.cut(with: .malformed("a chunk's size is followed by too much"), in: daemon)
    }
  }
}

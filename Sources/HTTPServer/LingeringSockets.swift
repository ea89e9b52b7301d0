internal import Limits
internal import CLinux
internal import EventLoop
internal import CMicroHTTPD
internal import Glibc

// Within `HTTPServer`, `Limits` is the server's own.
private let mostLingering = Limits.lingeringConnections.value

/// Sockets that libmicrohttpd is done with while their clients still send. A socket that is closed over bytes that nobody has read
/// resets its connection, and the client loses the reply: so they are read, and dropped, for a while (RFC 9112 §9.6).
/// On the loop only.
final class LingeringSockets: DescriptorHandler {
  private struct Lingering {
    var end: ContinuousClock.Instant
    let latestEnd: ContinuousClock.Instant
    var lastByte: ContinuousClock.Instant
  }
  /// For how long a client may go on, beside what its bytes earn it, and be silent.
  private static let patience = Duration.seconds(30)
  /// For how long in all, whatever it sends.
  private static let longest = Duration.seconds(600)
  private static let silence = Duration.seconds(10)
  /// Bytes that earn their client another second: who writes all of a large body before it reads comes to the reply.
  private static let bytesPerSecond = 64 * 1024
  /// More than these are closed at once.
  private static let maximum = mostLingering
  private static let readsAtOnce = 16

  private let loop: EventLoop
  private var sockets: [Int32: Lingering] = [:]
  private var scratch = [UInt8](repeating: 0, count: 64 * 1024)

  init(loop: EventLoop) { self.loop = loop }

  /// Keeps a socket that is about to be closed under another descriptor, until its client has no more to say.
  func keep(_ descriptor: Int32) {
    guard sockets.count < Self.maximum else { return }
    let kept = fcntl(descriptor, F_DUPFD_CLOEXEC, 0)
    guard kept >= 0 else { return }
    guard drop(from: kept).isOpen else {
      close(kept)
      return
    }
    sockets[kept] = Lingering(end: .now + Self.patience, latestEnd: .now + Self.longest, lastByte: .now)
    loop.watch(kept, for: .readable, handler: self)
  }

  func descriptorIsReady(_ descriptor: Int32, _ readiness: Readiness) {
    guard sockets[descriptor] != nil else { return }
    sockets[descriptor]?.lastByte = .now
    let (count, isOpen) = drop(from: descriptor)
    let earned = Duration.nanoseconds(count * 1_000_000_000 / Self.bytesPerSecond)
    if let socket = sockets[descriptor] {
      sockets[descriptor]?.end = min(socket.end + earned, socket.latestEnd)
    }
    if !isOpen { end(descriptor) }
  }

  /// Called every second or so.
  func sweep(_ now: ContinuousClock.Instant) {
    for (descriptor, lingering) in sockets
    where now >= lingering.end || now >= lingering.lastByte + Self.silence {
      end(descriptor)
    }
  }

  func endAll() {
    for descriptor in sockets.keys { end(descriptor) }
  }

  private func end(_ descriptor: Int32) {
    sockets[descriptor] = nil
    loop.unwatch(descriptor)
    close(descriptor)
  }

  /// Reads what is there: so many bytes; not open where nothing can follow.
  func drop(from descriptor: Int32) -> (count: Int, isOpen: Bool) {
    var total = 0
    for _ in 0..<Self.readsAtOnce {
      // On TCP, MSG_TRUNC drops the bytes without a copy.
      let flags = clinux_no_wait | Int32(MSG_TRUNC)
      let count = recv(descriptor, &scratch, scratch.count, flags)
      if count == 0 { return (total, false) }
      if count < 0 { return (total, errno == EAGAIN || errno == EINTR) }
      total += count
    }
    return (total, true)
  }
}

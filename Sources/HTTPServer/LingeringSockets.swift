internal import Limits
internal import CLinux
internal import EventLoop
internal import CMicroHTTPD
internal import Glibc

// Within `HTTPServer`, `Limits` is the server's own type.
private let mostLingering = Limits.lingeringConnections.value

/// Sockets that libmicrohttpd has closed while their clients still send. Closing a socket with unread bytes resets the connection, and
/// the client loses the reply. Ferry therefore reads and discards the bytes for a while (RFC 9112 §9.6). All functions run on the loop.
final class LingeringSockets: DescriptorHandler {
  private struct Lingering {
    var end: ContinuousClock.Instant
    let latestEnd: ContinuousClock.Instant
    var lastByte: ContinuousClock.Instant
  }
  /// The basic time for which a client may keep sending. Received bytes extend it.
  private static let patience = Duration.seconds(30)
  /// The longest time in all, however many bytes the client sends.
  private static let longest = Duration.seconds(600)
  private static let silence = Duration.seconds(10)
  /// The number of bytes that extend the time by a second. A client that sends a large body before it reads then receives the reply.
  private static let bytesPerSecond = 64 * 1024
  /// The limit of lingering sockets. Further ones are closed at once.
  private static let maximum = mostLingering
  private static let readsAtOnce = 16

  private let loop: EventLoop
  private var sockets: [Int32: Lingering] = [:]
  private var scratch = [UInt8](repeating: 0, count: 64 * 1024)

  init(loop: EventLoop) { self.loop = loop }

  /// Keeps a socket open under another descriptor, until its client stops sending.
  func keep(_ descriptor: Int32) {
    guard sockets.count < Self.maximum else { return }
    let kept = fcntl(descriptor, F_DUPFD_CLOEXEC, 0)
    guard kept >= 0 else { return }
    guard drain(from: kept).isOpen else {
      close(kept)
      return
    }
    sockets[kept] = Lingering(end: .now + Self.patience, latestEnd: .now + Self.longest, lastByte: .now)
    loop.watch(kept, for: .readable, handler: self)
  }

  func descriptorIsReady(_ descriptor: Int32, _ readiness: Readiness) {
    guard sockets[descriptor] != nil else { return }
    sockets[descriptor]?.lastByte = .now
    let (count, isOpen) = drain(from: descriptor)
    let earned = Duration.nanoseconds(count * 1_000_000_000 / Self.bytesPerSecond)
    if let socket = sockets[descriptor] {
      sockets[descriptor]?.end = min(socket.end + earned, socket.latestEnd)
    }
    if !isOpen { end(descriptor) }
  }

  /// Closes expired sockets. The daemon calls this function about every second.
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

  /// Reads and discards the available bytes. `isOpen` is false after the end of the stream or an error.
  func drain(from descriptor: Int32) -> (count: Int, isOpen: Bool) {
    var total = 0
    for _ in 0..<Self.readsAtOnce {
      // On TCP, MSG_TRUNC discards the bytes without a copy.
      let flags = clinux_no_wait | Int32(MSG_TRUNC)
      let count = recv(descriptor, &scratch, scratch.count, flags)
      if count == 0 { return (total, false) }
      if count < 0 { return (total, errno == EAGAIN || errno == EINTR) }
      total += count
    }
    return (total, true)
  }
}

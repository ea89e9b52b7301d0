internal import CMicroHTTPD
internal import EventLoop
internal import CLinux
internal import Glibc

/// Accepts clients from a listening socket for a daemon. If descriptors run out, libmicrohttpd's own accept stops until one of its
/// connections closes, which a stream may never do. This listener tries again soon. All functions run on the loop.
final class Listener: DescriptorHandler {
  /// The number of clients that are accepted at once, before existing clients are served again.
  static let atOnce = 64
  /// The pause before the next attempt when no descriptor is free.
  private static let patience = Duration.milliseconds(100)

  private let descriptor: Int32
  private let daemon: OpaquePointer
  private let loop: EventLoop
  private let hasRoom: () -> Bool
  private var isWaiting = false
  private var isClosed = false

  /// Starts to accept clients.
  /// - Parameter hasRoom: whether the server admits another client. If not, the listener waits for `resume`.
  init(_ descriptor: Int32, daemon: OpaquePointer, loop: EventLoop, hasRoom: @escaping () -> Bool) {
    self.descriptor = descriptor
    self.daemon = daemon
    self.loop = loop
    self.hasRoom = hasRoom
    resume()
  }

  func descriptorIsReady(_ descriptor: Int32, _ readiness: Readiness) {
    for _ in 0..<Self.atOnce {
      guard hasRoom() else { return loop.watch(descriptor, for: [], handler: self) }
      switch cmhd_accept(daemon, descriptor) {
      case 1: continue
      case 0: return
      default: return wait()
      }
    }
  }

  private func wait() {
    loop.watch(descriptor, for: [], handler: self)
    guard !isWaiting else { return }
    isWaiting = true
    loop.schedule(at: .now + Self.patience) { [weak self] in
      self?.isWaiting = false
      self?.resume()
    }
  }

  /// Accepts clients again, because there may be room.
  func resume() {
    guard !isWaiting, !isClosed else { return }
    loop.watch(descriptor, for: .readable, handler: self)
  }

  /// Stops accepting clients.
  func close() {
    guard !isClosed else { return }
    isClosed = true
    loop.unwatch(descriptor)
    Glibc.close(descriptor)
  }
}

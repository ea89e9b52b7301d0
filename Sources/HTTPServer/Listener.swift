internal import CMicroHTTPD
internal import EventLoop
internal import CLinux
internal import Glibc

/// Takes clients from a listening socket into a daemon. libmicrohttpd's own accept stops, where descriptors are lacking, until
/// one of its connections closes, which streams may never do; this one looks again soon. On the loop's thread.
final class Listener: DescriptorHandler {
  /// Clients that are taken in one go: then it is the turn of those that are here.
  static let atOnce = 64
  /// How long to wait where no descriptor is left.
  private static let patience = Duration.milliseconds(100)

  private let descriptor: Int32
  private let daemon: OpaquePointer
  private let loop: EventLoop
  private let hasRoom: () -> Bool
  private var isWaiting = false
  private var isClosed = false

  /// - Parameter hasRoom: whether another client is welcome; where not, it waits until `resume`.
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

  /// There may be room.
  func resume() {
    guard !isWaiting, !isClosed else { return }
    loop.watch(descriptor, for: .readable, handler: self)
  }

  /// Takes no more.
  func close() {
    guard !isClosed else { return }
    isClosed = true
    loop.unwatch(descriptor)
    Glibc.close(descriptor)
  }
}

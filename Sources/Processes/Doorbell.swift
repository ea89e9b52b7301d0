package import EventLoop
internal import CLinux
internal import Glibc
internal import Synchronization

/// A socket with a name in a directory, on which other processes ring: it only says "look".
///
/// What there is to see lies elsewhere (a database), so that a ring that comes while another waits is none, and one that
/// is lost with its process loses nothing that a look at the start does not find.
package final class Doorbell: Sendable {
  package struct Failure: Error, Sendable, Equatable, CustomStringConvertible {
    package let operation: String
    package let errno: Int32
    package var description: String { "\(operation): \(String(cString: strerror(errno)))" }
  }
  private struct State {
    var isClosed = false
    var loop: EventLoop?
    var onRing: (@Sendable () -> Void)?
  }

  package let descriptor: Int32
  private let address: SocketAddress
  private let file: FileIdentity
  private let state = Mutex(State())

  /// Takes the place of a socket that lies there: whoever may listen at `path` is decided elsewhere, by a lock.
  package init(path: String) throws(Failure) {
    guard let address = SocketAddress(path: path) else { throw Failure(operation: "open", errno: errno) }
    let opened = SocketAddress.socket()
    guard opened >= 0 else { throw Failure(operation: "socket", errno: errno) }
    address.removeSocket()
    // The socket's own mode becomes that of its name: only the owner rings.
    guard fchmod(opened, 0o600) == 0, address.bind(opened), let file = address.file else {
      let code = errno
      Glibc.close(opened)
      throw Failure(operation: "bind", errno: code)
    }
    self.address = address
    self.file = file
    descriptor = opened
  }

  deinit { close() }

  /// Takes all rings that wait.
  /// - Returns: whether there were any.
  package func take() -> Bool {
    var hasRung = false
    var byte: UInt8 = 0
    while true {
      if recv(descriptor, &byte, 1, 0) >= 0 { hasRung = true } else if errno != EINTR { return hasRung }
    }
  }

  /// On the loop. Calls `onRing` there after each ring, or several, until `close()`. Whoever listens keeps the bell.
  package func listen(on loop: EventLoop, _ onRing: @escaping @Sendable () -> Void) {
    state.withLock { state in
      state.loop = loop
      state.onRing = onRing
    }
    loop.watch(descriptor, for: .readable, handler: self)
  }

  /// Stops listening and takes the name away, unless it is another socket's by now. On the loop, where one listens.
  package func close() {
    let previous = state.withLock { state in
      defer { state = State(isClosed: true) }
      return state
    }
    guard !previous.isClosed else { return }
    previous.loop?.unwatch(descriptor)
    if address.file == file { address.removeSocket() }
    Glibc.close(descriptor)
  }

  /// Rings once, without waiting.
  /// - Returns: whether somebody listens there.
  package static func ring(_ path: String) -> Bool { DoorbellPull(path: path).ring() }
}

extension Doorbell: DescriptorHandler {
  package func descriptorIsReady(_ descriptor: Int32, _ readiness: Readiness) {
    guard take() else { return }
    state.withLock { $0.onRing }?()
  }
}

/// Rings one bell again and again, for one system call each. From any thread.
package final class DoorbellPull: Sendable {
  private struct State: ~Copyable {
    var descriptor: Int32 = -1
    var address: SocketAddress?
    deinit { if descriptor >= 0 { Glibc.close(descriptor) } }
  }
  private let path: String
  private let state = Mutex(State())

  /// - Parameter path: of the bell, which need not be there yet.
  package init(path: String) { self.path = path }

  /// - Returns: whether somebody listens. A bell that has all the rings it can hold counts: it has not been answered yet.
  @discardableResult
  package func ring() -> Bool {
    state.withLock { state in
      if state.descriptor < 0 { state.descriptor = SocketAddress.socket() }
      guard state.descriptor >= 0 else { return false }
      if let address = state.address {
        let code = address.send(from: state.descriptor)
        // Without a name, the directory itself may have been replaced.
        guard code == ENOENT else { return Self.isHeard(code) }
      }
      state.address = SocketAddress(path: path)
      return Self.isHeard(state.address?.send(from: state.descriptor) ?? ENOENT)
    }
  }

  private static func isHeard(_ code: Int32) -> Bool { code == 0 || code == EAGAIN }
}

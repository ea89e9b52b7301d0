package import EventLoop
internal import CLinux
internal import Glibc
internal import Synchronization

/// A named socket on which other processes wake this one. A wakeup has no content: the receiver reads the database.
///
/// A wakeup that arrives while another is pending changes nothing. A wakeup may be lost when its process dies, because each process reads
/// the database at its start.
package final class WakeupSocket: Sendable {
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

  /// Creates the socket and replaces any other at `path`. A lock decides which process may use the path.
  package init(path: String) throws(Failure) {
    guard let address = SocketAddress(path: path) else { throw Failure(operation: "open", errno: errno) }
    let opened = SocketAddress.socket()
    guard opened >= 0 else { throw Failure(operation: "socket", errno: errno) }
    address.removeSocket()
    // The socket's mode becomes the mode of its file: only the owner may send.
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

  /// Reads all pending wakeups.
  /// - Returns: whether there were any.
  package func drain() -> Bool {
    var hasRung = false
    var byte: UInt8 = 0
    while true {
      if recv(descriptor, &byte, 1, 0) >= 0 { hasRung = true } else if errno != EINTR { return hasRung }
    }
  }

  /// Calls `onRing` on the loop after one or more wakeups, until `close()`. The caller must keep this object. Call on the loop.
  package func listen(on loop: EventLoop, _ onRing: @escaping @Sendable () -> Void) {
    state.withLock { state in
      state.loop = loop
      state.onRing = onRing
    }
    loop.watch(descriptor, for: .readable, handler: self)
  }

  /// Stops listening and removes the socket's file, unless another socket has replaced it. Call on the loop if the object listens.
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

  /// Sends one wakeup, without waiting.
  /// - Returns: whether a process listens.
  package static func wake(_ path: String) -> Bool { WakeupClient(path: path).wake() }
}

extension WakeupSocket: DescriptorHandler {
  package func descriptorIsReady(_ descriptor: Int32, _ readiness: Readiness) {
    guard drain() else { return }
    state.withLock { $0.onRing }?()
  }
}

/// A client that sends wakeups to one socket, with one system call each. It may be used on any thread.
package final class WakeupClient: Sendable {
  private struct State: ~Copyable {
    var descriptor: Int32 = -1
    var address: SocketAddress?
    deinit { if descriptor >= 0 { Glibc.close(descriptor) } }
  }
  private let path: String
  private let state = Mutex(State())

  /// - Parameter path: the socket's path. The socket need not exist yet.
  package init(path: String) { self.path = path }

  /// Sends a wakeup.
  /// - Returns: whether a process listens. A full socket counts as well, because its process still has wakeups to read.
  @discardableResult
  package func wake() -> Bool {
    state.withLock { state in
      if state.descriptor < 0 { state.descriptor = SocketAddress.socket() }
      guard state.descriptor >= 0 else { return false }
      if let address = state.address {
        let code = address.send(from: state.descriptor)
        // The directory itself may have been replaced, so the path is opened again.
        guard code == ENOENT else { return Self.isHeard(code) }
      }
      state.address = SocketAddress(path: path)
      return Self.isHeard(state.address?.send(from: state.descriptor) ?? ENOENT)
    }
  }

  private static func isHeard(_ code: Int32) -> Bool { code == 0 || code == EAGAIN }
}

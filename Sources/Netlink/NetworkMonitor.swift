package import Addresses
package import EventLoop
internal import Synchronization

/// A monitor of the machine's interfaces and routes.
///
/// Each notification of the kernel makes the monitor read everything again. Not every change causes a notification (the routes that
/// vanish with a link), and notifications may be lost.
package final class NetworkMonitor: DescriptorHandler, @unchecked Sendable {
  // Unchecked: only the loop's thread uses the state outside `published`.
  /// The pause between the first notification and the request, so that one request serves many notifications.
  static let patience = Duration.milliseconds(50)

  private let socket: NetlinkSocket
  private let loop: EventLoop
  private let published = Mutex<NetworkSnapshot?>(nil)
  private var onChange: ((NetworkSnapshot) -> Void)?
  private var buffer = [UInt8](repeating: 0, count: 65_536)
  private var dump: NetlinkDump?
  private var timer: LoopTimer?
  /// Whether a notification arrived that the running dump may have missed.
  private var isStale = false
  private var sequence: UInt32 = 0

  /// Makes a monitor.
  /// - Parameter socket: a socket in the network namespace to monitor.
  package init(socket: NetlinkSocket, loop: EventLoop) {
    self.socket = socket
    self.loop = loop
  }

  /// The last snapshot; `nil` before the first one. Any thread may read it.
  package var snapshot: NetworkSnapshot? { published.withLock { $0 } }

  /// Starts the monitor. Call this function on the loop, and retain the monitor.
  /// - Parameter onChange: called on the loop with each new snapshot, including the first.
  package func start(onChange: @escaping (NetworkSnapshot) -> Void) {
    self.onChange = onChange
    loop.watch(socket.descriptor, for: .readable, handler: self)
    ask()
  }

  /// Stops the monitor. Call this function on the loop, before the last reference is released.
  package func stop() {
    loop.unwatch(socket.descriptor)
    if let timer { loop.cancel(timer) }
    timer = nil
    dump = nil
    onChange = nil
  }

  package func descriptorIsReady(_ descriptor: Int32, _ readiness: Readiness) {
    // The limit lets the loop do other work during a flood of messages.
    for _ in 0..<16 {
      switch socket.receive(into: &buffer) {
      case .nothing: return
      case .overrun: markStale()
      case .bytes(let bytes):
        for message in NetlinkMessage.all(in: NetlinkBytes(bytes)) { handle(message) }
      }
    }
  }

  private func handle(_ message: NetlinkMessage) {
    guard let isAnswer = dump?.isAnswered(by: message, to: socket.port), isAnswer else {
      if message.port != socket.port || message.sequence == 0 { markStale() }
      return
    }
    switch dump?.handle(message) {
    case .ask(let request):
      sequence &+= 1
      if !socket.send(request) { fail() }
    case .finished(let snapshot):
      dump = nil
      publish(snapshot)
      if isStale { scheduleDump() }
    case .interrupted: fail()
    case .more, nil: break
    }
  }

  private func publish(_ snapshot: NetworkSnapshot) {
    let isOther = published.withLock { published in
      defer { published = snapshot }
      return published != snapshot
    }
    if isOther { onChange?(snapshot) }
  }

  private func markStale() {
    isStale = true
    if dump == nil { scheduleDump() }
  }

  private func fail() {
    dump = nil
    scheduleDump()
  }

  private func scheduleDump() {
    guard timer == nil else { return }
    timer = loop.schedule(at: .now + Self.patience) { [weak self] in
      self?.timer = nil
      self?.ask()
    }
  }

  private func ask() {
    isStale = false
    sequence &+= 1
    let next = NetlinkDump(sequence: sequence)
    dump = next
    if !socket.send(next.request) { fail() }
  }
}

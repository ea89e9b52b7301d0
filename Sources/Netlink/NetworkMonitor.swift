package import Addresses
package import EventLoop
internal import Synchronization

/// Knows the interfaces and routes of the machine, and hears when they change.
///
/// A message of the kernel only says that something is different: then everything is asked anew, since not all that changes
/// is told (the routes that go with a link), and some of what is told may be lost.
package final class NetworkMonitor: DescriptorHandler, @unchecked Sendable {
  // Unchecked: what is not behind `published` is touched on the loop's thread only.
  /// From the first message to the question, so that one question does for many messages.
  static let patience = Duration.milliseconds(50)

  private let socket: NetlinkSocket
  private let loop: EventLoop
  private let published = Mutex<NetworkSnapshot?>(nil)
  private var onChange: ((NetworkSnapshot) -> Void)?
  private var buffer = [UInt8](repeating: 0, count: 65_536)
  private var dump: NetlinkDump?
  private var timer: LoopTimer?
  /// Something came that the dump under way may have missed.
  private var isStale = false
  private var sequence: UInt32 = 0

  /// - Parameter socket: opened in the network namespace that is to be known.
  package init(socket: NetlinkSocket, loop: EventLoop) {
    self.socket = socket
    self.loop = loop
  }

  /// The network as it was told last; nil before the first answer. From any thread.
  package var snapshot: NetworkSnapshot? { published.withLock { $0 } }

  /// On the loop. Whoever starts it keeps it.
  /// - Parameter onChange: called on the loop, when the snapshot is another one; also for the first.
  package func start(onChange: @escaping (NetworkSnapshot) -> Void) {
    self.onChange = onChange
    loop.watch(socket.descriptor, for: .readable, handler: self)
    ask()
  }

  /// On the loop; before the last reference goes.
  package func stop() {
    loop.unwatch(socket.descriptor)
    if let timer { loop.cancel(timer) }
    timer = nil
    dump = nil
    onChange = nil
  }

  package func descriptorIsReady(_ descriptor: Int32, _ readiness: Readiness) {
    // A flood of messages leaves the loop to others in between.
    for _ in 0..<16 {
      switch socket.receive(into: &buffer) {
      case .nothing: return
      case .overrun: becomeStale()
      case .bytes(let bytes):
        for message in NetlinkMessage.all(in: NetlinkBytes(bytes)) { take(message) }
      }
    }
  }

  private func take(_ message: NetlinkMessage) {
    guard let isAnswer = dump?.isAnswered(by: message, to: socket.port), isAnswer else {
      if message.port != socket.port || message.sequence == 0 { becomeStale() }
      return
    }
    switch dump?.take(message) {
    case .ask(let request):
      sequence &+= 1
      if !socket.send(request) { fail() }
    case .finished(let snapshot):
      dump = nil
      publish(snapshot)
      if isStale { askSoon() }
    case .spoilt: fail()
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

  private func becomeStale() {
    isStale = true
    if dump == nil { askSoon() }
  }

  private func fail() {
    dump = nil
    askSoon()
  }

  private func askSoon() {
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

internal import CLinux
internal import CProcess
internal import DequeModule
internal import Glibc
internal import Synchronization

/// A receiver of the kernel's events for one descriptor. The loop calls it on its thread.
package protocol DescriptorHandler: AnyObject {
  func descriptorIsReady(_ descriptor: Int32, _ readiness: Readiness)
}

/// The events for which a descriptor is ready.
package struct Readiness: OptionSet, Sendable {
  package let rawValue: UInt8
  package init(rawValue: UInt8) { self.rawValue = rawValue }
  package static let readable = Readiness(rawValue: 1)
  package static let writable = Readiness(rawValue: 2)
  package static let failed = Readiness(rawValue: 4)
  /// The peer closed its side (EPOLLRDHUP).
  package static let hungUp = Readiness(rawValue: 8)
}

/// One thread that waits in `epoll_wait`, and the executor of the actors that live on it.
///
/// An actor whose `unownedExecutor` is a loop runs on that thread alone, so it can own C handles that must not be shared. A call into
/// such an actor goes through the loop's inbox. Jobs gather under a lock and run in one batch per tick. A batch has at most `jobsPerTick`
/// jobs, so that a flood of jobs cannot starve the sockets.
///
/// Functions marked "on the loop" must be called from its thread.
package final class EventLoop: SerialExecutor, @unchecked Sendable {
  // Unchecked: only the loop's thread uses the state outside `inbox`.
  private struct Inbox {
    var jobs: [UnownedJob] = []
    var actions: [@Sendable () -> Void] = []
    var isSignalled = false
    var isStopped = false
  }
  private struct Registration {
    weak var handler: (any DescriptorHandler)?
    var interest: UInt32 = 0
    /// The events that epoll watches. Interest that vanishes is removed lazily, at the next event.
    var registered: UInt32 = 0
  }

  package static let jobsPerTick = 1024
  private static let eventsPerTick = 256

  private let inbox = Mutex(Inbox())
  private let epoll: Int32
  private let wakeupDescriptor: Int32
  private let thread = Atomic<UInt>(0)
  /// The loop's thread, set by the caller of `start` and consumed by the caller of `stopAndJoin`.
  private var handle: pthread_t?
  private var registrations: [Registration] = []
  private var timers = TimerQueue()
  private var tickHandlers: [() -> Void] = []
  private var backlog = Deque<UnownedJob>()
  /// The number of iterations since the loop started.
  package private(set) var tick: UInt64 = 0

  /// The name of the thread, at most 15 bytes.
  package let name: String

  package init(name: String) {
    self.name = name
    epoll = epoll_create1(Int32(EPOLL_CLOEXEC))
    wakeupDescriptor = eventfd(0, Int32(EFD_NONBLOCK | EFD_CLOEXEC))
    precondition(epoll >= 0 && wakeupDescriptor >= 0, "no descriptors left for an event loop")
    _ = control(EPOLL_CTL_ADD, wakeupDescriptor, EPOLLIN.rawValue)
  }

  deinit {
    close(wakeupDescriptor)
    close(epoll)
  }

  // MARK: From any thread

  package func asUnownedSerialExecutor() -> UnownedSerialExecutor { UnownedSerialExecutor(ordinary: self) }
  package func isIsolatingCurrentContext() -> Bool? { isOnLoop }
  package func checkIsolated() { precondition(isOnLoop, "not on the event loop \(name)") }
  package var isOnLoop: Bool { thread.load(ordering: .relaxed) == UInt(pthread_self()) }

  package func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    leave { $0.jobs.append(job) }
  }

  /// Calls `action` on the loop.
  package func perform(_ action: @escaping @Sendable () -> Void) { leave { $0.actions.append(action) } }

  /// Ends the loop after the current tick. Later jobs never run.
  package func stop() {
    inbox.withLock { $0.isStopped = true }
    signalWakeup()
  }

  /// Makes the loop run another tick.
  package func wake() { leave { _ in } }

  /// Changes the inbox. The loop's own thread needs no wake-up, because it checks the inbox before it waits.
  private func leave(_ body: (inout Inbox) -> Void) {
    let mustWake = inbox.withLock { inbox in
      body(&inbox)
      defer { inbox.isSignalled = true }
      return !inbox.isSignalled
    }
    if mustWake, !isOnLoop { signalWakeup() }
  }

  /// Starts the loop on a thread of its own. The thread retains the loop until `stop()`.
  package func start() { handle = POSIXThread.start(name: name) { self.run() } }

  /// Ends the loop and returns after its thread has ended. Libraries clean up when a thread ends, which must not happen while the process
  /// exits.
  package func stopAndJoin() async {
    stop()
    guard let thread = handle else { return }
    handle = nil
    await withCheckedContinuation { continuation in
      POSIXThread.spawn(name: "join") {
        pthread_join(thread, nil)
        continuation.resume()
      }
    }
  }

  // MARK: On the loop

  /// Calls `handler` while `descriptor` is ready for `interest`. The loop holds the handler weakly. An empty `interest` mutes the
  /// descriptor.
  package func watch(_ descriptor: Int32, for interest: Readiness, handler: any DescriptorHandler) {
    let index = Int(descriptor)
    if index >= registrations.count {
      registrations += Array(repeating: Registration(), count: index + 64 - registrations.count)
    }
    registrations[index].handler = handler
    let mask = Self.mask(interest)
    registrations[index].interest = mask
    guard mask != 0, registrations[index].registered != mask else { return }
    let operation = registrations[index].registered == 0 ? EPOLL_CTL_ADD : EPOLL_CTL_MOD
    let other = operation == EPOLL_CTL_ADD ? EPOLL_CTL_MOD : EPOLL_CTL_ADD
    // If the kernel has no room, the next call tries again. Until then the owner's timeout runs.
    guard control(operation, descriptor, mask) || control(other, descriptor, mask) else { return }
    registrations[index].registered = mask
  }

  /// Stops watching an open descriptor.
  package func unwatch(_ descriptor: Int32) {
    guard Int(descriptor) < registrations.count else { return }
    if registrations[Int(descriptor)].registered != 0 { _ = control(EPOLL_CTL_DEL, descriptor, 0) }
    registrations[Int(descriptor)] = Registration()
  }

  /// Stops watching a closed descriptor, which the kernel has already removed.
  package func didClose(_ descriptor: Int32) {
    guard Int(descriptor) < registrations.count else { return }
    registrations[Int(descriptor)] = Registration()
  }

  /// Calls `action` at `deadline` or soon after.
  @discardableResult
  package func schedule(at deadline: ContinuousClock.Instant, _ action: @escaping () -> Void) -> LoopTimer {
    timers.insert(deadline, action)
  }
  package func cancel(_ timer: LoopTimer) { timers.remove(timer) }

  /// Calls `action` at the end of every tick, after sockets, timers and jobs.
  package func atEndOfTick(_ action: @escaping () -> Void) { tickHandlers.append(action) }

  // MARK: The loop

  private func run() {
    thread.store(UInt(pthread_self()), ordering: .relaxed)
    cprocess_become_loop_thread()
    var events = [epoll_event](repeating: epoll_event(), count: Self.eventsPerTick)
    while true {
      let isAwaited = !backlog.isEmpty || inbox.withLock { $0.isSignalled }
      let timeout = isAwaited ? 0 : timers.milliseconds(from: .now)
      let count = Int(epoll_wait(epoll, &events, Int32(Self.eventsPerTick), timeout))
      tick += 1
      for index in 0..<max(0, count) { dispatch(events[index]) }
      for action in timers.takeDue(.now) { action() }
      let isStopped = runJobs()
      for handler in tickHandlers { handler() }
      if isStopped { break }
    }
    tickHandlers.removeAll()
    timers = TimerQueue()
    registrations.removeAll()
  }

  private func dispatch(_ event: epoll_event) {
    let descriptor = event.data.fd
    if descriptor == wakeupDescriptor {
      var value: UInt64 = 0
      _ = read(wakeupDescriptor, &value, 8)
      return
    }
    let index = Int(descriptor)
    guard index < registrations.count, registrations[index].registered != 0 else { return }
    guard registrations[index].interest != 0, let handler = registrations[index].handler else {
      _ = control(EPOLL_CTL_DEL, descriptor, 0)
      registrations[index].registered = 0
      return
    }
    handler.descriptorIsReady(descriptor, Self.readiness(event.events))
  }

  /// Runs at most `jobsPerTick` jobs. The others keep their order for the next tick.
  ///
  /// - Returns: whether the loop must end.
  private func runJobs() -> Bool {
    let (isStopped, actions) = inbox.withLock { inbox in
      backlog.append(contentsOf: inbox.jobs)
      inbox.jobs.removeAll(keepingCapacity: true)
      inbox.isSignalled = false
      defer { inbox.actions.removeAll(keepingCapacity: true) }
      return (inbox.isStopped, inbox.actions)
    }
    for action in actions { action() }
    for _ in 0..<min(Self.jobsPerTick, backlog.count) {
      backlog.popFirst()?.runSynchronously(on: asUnownedSerialExecutor())
    }
    let hasMore = inbox.withLock { !$0.jobs.isEmpty || !$0.actions.isEmpty }
    return isStopped && backlog.isEmpty && !hasMore
  }

  private func signalWakeup() {
    var one: UInt64 = 1
    _ = write(wakeupDescriptor, &one, 8)
  }

  private func control(_ operation: Int32, _ descriptor: Int32, _ interest: UInt32) -> Bool {
    var event = epoll_event(events: interest, data: epoll_data(fd: descriptor))
    return epoll_ctl(epoll, operation, descriptor, &event) == 0
  }

  private static func mask(_ interest: Readiness) -> UInt32 {
    (interest.contains(.readable) ? EPOLLIN.rawValue : 0)
      | (interest.contains(.writable) ? EPOLLOUT.rawValue : 0)
      | (interest.contains(.hungUp) ? EPOLLRDHUP.rawValue | EPOLLET.rawValue : 0)
  }

  private static func readiness(_ events: UInt32) -> Readiness {
    var readiness: Readiness = []
    if events & EPOLLIN.rawValue != 0 { readiness.insert(.readable) }
    if events & EPOLLOUT.rawValue != 0 { readiness.insert(.writable) }
    if events & (EPOLLERR.rawValue | EPOLLHUP.rawValue) != 0 { readiness.insert(.failed) }
    if events & (EPOLLRDHUP.rawValue | EPOLLHUP.rawValue) != 0 { readiness.insert(.hungUp) }
    return readiness
  }
}

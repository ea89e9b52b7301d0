internal import CMicroHTTPD
internal import EventLoop
internal import CLinux
internal import DequeModule
internal import Glibc
internal import HTTPTypes
internal import Synchronization

/// One libmicrohttpd daemon and the loop that drives it (`MHD_run`).
///
/// libmicrohttpd's own threads are not used. Their epoll loop stalls if exactly 128 sockets are ready at once, and a single thread needs
/// no locks. In this mode libmicrohttpd has no wake-up channel, so each caller that resumes a connection wakes the loop.
final class ServerDaemon: DescriptorHandler, @unchecked Sendable {
  // Unchecked: all state outside `wakes` belongs to the loop's thread.
  private struct Wakes {
    var exchanges: [Exchange] = []
    /// The streams to resume, each at most once.
    var streams = Deque<Exchange>()
  }

  /// The streams that are resumed in one tick of the loop. Other requests wait only for these, not for all streams.
  private static let streamsPerTurn = 512

  /// The block size in bytes for reads from a source of known length.
  let blockSize = 64 * 1024
  /// The block size for chunked replies. They are built in the connection's own memory; libmicrohttpd only requires a buffer.
  let chunkedBlockSize = 256
  private let loop: EventLoop
  /// The executor for short handlers.
  let executor: LoopExecutor
  let limits: HTTPServer.Limits
  private let port: Int
  private let handler: HTTPHandler
  let receiving, replies: ByteBudget
  private let wakes = Mutex(Wakes())
  private(set) var daemon: OpaquePointer?
  private var connections: [Int32: ServerConnection] = [:]
  private var idle = IdleConnections()
  private(set) var exchanges: [ObjectIdentifier: Exchange] = [:]
  private var watched: [Int32: Exchange] = [:]
  private let lingering: LingeringSockets
  var (stalls, mustRun) = (StallWatch(), true)
  private var listener: Listener?
  private var timeoutTimer, streamTimer: LoopTimer?
  private static let sweepPeriod = Duration.seconds(1)
  /// The requests that began in this run of libmicrohttpd.
  private var fresh: [Exchange] = []
  private var standstill = FreezeDetector(period: sweepPeriod)
  private var lastStreamFlush = ContinuousClock.now
  private var isFlushing = false  // Some streams with pending events wait for the next tick.
  private(set) var isDraining = false
  private var whenIdle: (() -> Void)?

  init(loop: EventLoop, limits: HTTPServer.Limits, port: Int, handler: @escaping HTTPHandler) {
    self.loop = loop
    executor = LoopExecutor(loop)
    self.limits = limits
    self.port = port
    self.handler = handler
    receiving = ByteBudget(capacity: limits.receivingBytes)
    replies = ByteBudget(capacity: limits.replyBytes)
    lingering = LingeringSockets(loop: loop)
  }

  // MARK: From any thread

  func resumeSoon(_ exchange: Exchange) {
    wakes.withLock { $0.exchanges.append(exchange) }
    loop.wake()
  }

  /// Schedules the resumption of a stream. The wake-ups of streams are batched, because streams are many and can wait.
  func resumeStreamSoon(_ exchange: Exchange) {
    let isNew = wakes.withLock { wakes in
      guard !exchange.handlerIsWaiting else { return false }
      exchange.handlerIsWaiting = true
      wakes.streams.append(exchange)
      return true
    }
    if isNew { loop.wake() }
  }

  // MARK: On the loop

  func start(listener: Int32) throws(HTTPServer.Failure) {
    var settings = cmhd_settings(
      // Connections that were closed to admit others count until they end.
      connection_limit: UInt32(limits.connections + Listener.atOnce),
      connection_memory_limit: UInt32(limits.connectionBytes), connection_timeout: UInt32(limits.idleSeconds),
      on_request: onRequest, on_completed: onCompleted, on_connection: onConnection, on_target: onTarget,
      context: Unmanaged.passUnretained(self).toOpaque())
    guard let daemon = cmhd_start(&settings) else {
      throw HTTPServer.Failure(message: "libmicrohttpd cannot start")
    }
    self.daemon = daemon
    self.listener = Listener(listener, daemon: daemon, loop: loop) { [unowned self] in
      mustRun = true
      return connections.count < limits.connections + Listener.atOnce && (!isFull || idle.hasClosable())
    }
    loop.watch(cmhd_epoll_descriptor(daemon), for: .readable, handler: self)
    loop.atEndOfTick { [weak self] in self?.drive() }
    sweep()
  }

  func descriptorIsReady(_ descriptor: Int32, _ readiness: Readiness) {
    if let exchange = watched[descriptor] {
      if readiness.contains(.hungUp) || readiness.contains(.failed) { exchange.clientHungUp() }
    }
    mustRun = true
  }

  private func drive() {
    let woken = wakes.withLock { wakes in
      defer { wakes.exchanges.removeAll(keepingCapacity: true) }
      return wakes.exchanges
    }
    for exchange in woken {
      exchange.resume()
      exchange.answerEarly(.now)
    }
    flushStreams()
    guard let daemon, mustRun || !woken.isEmpty else { return }
    mustRun = false
    MHD_run(daemon)
    cutStalled(daemon)
    for exchange in fresh { exchange.startWithoutBody() }
    fresh.removeAll(keepingCapacity: true)
    rearm(daemon)
    if exchanges.isEmpty { becameIdle() }
  }

  /// Resumes streams. Each flush walks every suspended connection, so flushes are rarer the more connections there are. They take at most a
  /// tenth of the time, and a single client does not wait. The events of many streams are sent in several ticks.
  private func flushStreams() {
    guard wakes.withLock({ !$0.streams.isEmpty }), streamTimer == nil else { return }
    let due = lastStreamFlush + .microseconds(min(50_000, 4 * exchanges.count))
    guard isFlushing || due <= .now else {
      streamTimer = loop.schedule(at: due) { [weak self] in self?.streamTimer = nil }
      return
    }
    lastStreamFlush = .now
    let streams = wakes.withLock { wakes in
      let some = Array(wakes.streams.prefix(Self.streamsPerTurn))
      wakes.streams.removeFirst(some.count)
      for exchange in some { exchange.handlerIsWaiting = false }
      isFlushing = !wakes.streams.isEmpty
      return some
    }
    for exchange in streams { exchange.resume() }
    mustRun = true
    if isFlushing { loop.wake() }
  }

  private func rearm(_ daemon: OpaquePointer) {
    var milliseconds: CUnsignedLongLong = 0
    guard MHD_get_timeout(daemon, &milliseconds) == .YES else { return stalls.recordWait() }
    if milliseconds == 0 {
      mustRun = true
      if stalls.recordImmediateRun() { detectStalls() }
      loop.wake()
      return
    }
    stalls.recordWait()
    if timeoutTimer == nil {
      timeoutTimer = loop.schedule(at: .now + .milliseconds(min(Int(milliseconds), 1000))) { [weak self] in
        self?.timeoutTimer = nil
        self?.mustRun = true
      }
    }
  }

  private var isFull: Bool { connections.count - idle.closing >= limits.connections }

  /// Closes connections whose request head takes too long. libmicrohttpd's own timeout restarts with every byte.
  private func sweep() {
    guard daemon != nil else { return }
    let now = ContinuousClock.now
    let lost = standstill.check(now)
    for connection in connections.values {
      connection.excludeFreeze(lost)
      if let deadline = connection.headDeadline, deadline < now {
        RawReply(limits.refusal(.timedOut(seconds: limits.headSeconds)))?.write(to: connection.descriptor)
        shutdown(connection.descriptor, Int32(SHUT_RDWR))
        connection.headDeadline = nil
        connection.hasSentLastReply = true
      }
    }
    for exchange in exchanges.values {
      exchange.clock.excludeFreeze(lost)
      exchange.answerEarly(now)
      exchange.giveUpIfLate(now)
    }
    lingering.sweep(now)
    loop.schedule(at: now + Self.sweepPeriod) { [weak self] in self?.sweep() }
  }

  /// Ends a connection that libmicrohttpd no longer looks at.
  func cut(_ connection: OpaquePointer, in daemon: OpaquePointer) {
    let descriptor = cmhd_descriptor(connection)
    // Unread bytes would turn the end into a reset.
    _ = lingering.drain(from: descriptor)
    shutdown(descriptor, Int32(SHUT_RDWR))
    connections[descriptor]?.isInEpollSet = true
    connections[descriptor]?.hasSentLastReply = true
    cmhd_epoll_add(daemon, connection, descriptor)
    mustRun = true
  }

  /// Starts the exchange's handler after this run of libmicrohttpd, unless the body that came along starts it first.
  func afterRun(_ exchange: Exchange) { fresh.append(exchange) }

  func watch(_ descriptor: Int32, _ exchange: Exchange) {
    watched[descriptor] = exchange
    loop.watch(descriptor, for: .hungUp, handler: self)
  }
  func unwatch(_ descriptor: Int32) {
    watched[descriptor] = nil
    loop.unwatch(descriptor)
  }

  /// Calls `action` after 50 ms, and then runs libmicrohttpd.
  func callSoon(_ action: @escaping () -> Void) {
    loop.schedule(at: .now + .milliseconds(50)) { [weak self] in
      action()
      self?.mustRun = true
    }
  }

  /// Ends endless streams, and calls `whenIdle` when all replies are sent. Until then new requests are answered, so that other services
  /// learn that this one is stopping. After that no connection is accepted.
  func drain(_ whenIdle: @escaping () -> Void) {
    guard daemon != nil, !isDraining else { return whenIdle() }
    isDraining = true
    self.whenIdle = whenIdle
    for exchange in exchanges.values where exchange.isStreaming { exchange.resume() }
    mustRun = true
    if exchanges.isEmpty { becameIdle() }
  }

  private func becameIdle() {
    guard daemon != nil, let whenIdle else { return }
    self.whenIdle = nil
    listener?.close()
    whenIdle()
  }

  /// Stops the daemon at once.
  func stop() {
    guard let daemon else { return }
    whenIdle = nil
    listener?.close()
    loop.unwatch(cmhd_epoll_descriptor(daemon))
    for connection in connections.values { connection.hasSentLastReply = true }
    // libmicrohttpd must not run again: it would start new requests, and no connection may be suspended when it stops.
    for exchange in exchanges.values { exchange.abandon() }
    self.daemon = nil
    MHD_stop_daemon(daemon)
    exchanges.removeAll()
    lingering.endAll()
  }

  // MARK: Callbacks of libmicrohttpd

  fileprivate func connected(_ connection: OpaquePointer) -> ServerConnection {
    let deadline = ContinuousClock.now + .seconds(limits.headSeconds)
    let opened = ServerConnection(descriptor: cmhd_descriptor(connection), headDeadline: deadline)
    connections[opened.descriptor] = opened
    if connections.count - idle.closing > limits.connections { idle.closeLongest() }
    return opened
  }

  /// Records the end of a connection. libmicrohttpd closes the socket next.
  fileprivate func disconnected(_ connection: ServerConnection) {
    connections[connection.descriptor] = nil
    idle.connectionEnded(connection)
    // libmicrohttpd 1.0.1 omits the end of a request if its refusal of a chunk's line fails. Nothing may use the connection from here on.
    if let exchange = connection.exchange { ended(exchange, on: connection, .REQUEST_TERMINATED_WITH_ERROR) }
    listener?.resume()
    guard let daemon else { return }
    connection.sendRefusal(limits)
    // No bytes follow, even if the socket lingers.
    shutdown(connection.descriptor, Int32(SHUT_WR))
    guard !connection.isInEpollSet else { return cmhd_epoll_remove(daemon, connection.descriptor) }
    guard connection.readsRemainingBytes || cmhd_unread(connection.descriptor) > 0 else { return }
    lingering.keep(connection.descriptor)
  }

  /// Records that the request line has arrived, so that the connection is no longer idle.
  fileprivate func didReceiveTarget(_ target: String, on socket: ServerConnection) {
    socket.target = target
    idle.remove(socket)
  }

  /// Begins a request.
  /// - Returns: `nil` if the request was refused.
  fileprivate func began(_ parts: RequestHead.Parts, on socket: ServerConnection) -> Exchange? {
    let parsed = RequestHead.read(parts, limits)
    socket.headDeadline = nil
    if let fault = parsed.fault {
      // The end of such a request may be ambiguous, and libmicrohttpd's memory may be full.
      RawReply(limits.refusal(fault))?.write(to: socket.descriptor, toHead: parsed.head.method == .head)
      socket.hasSentLastReply = true
      return nil
    }
    let exchange = Exchange(daemon: self, parsed, on: parts.connection)
    exchanges[ObjectIdentifier(exchange)] = exchange
    socket.exchange = exchange
    let body = parsed.hasBody ? RequestBody(exchange, length: parsed.contentLength) : RequestBody([])
    exchange.start(
      ServerRequest(head: parsed.head, path: parsed.path, query: parsed.query, body: body, localPort: port),
      handler)
    return exchange
  }

  /// Records the end of a request.
  /// - Parameter exchange: `nil` if libmicrohttpd itself refused the request.
  fileprivate func ended(
    _ exchange: Exchange?, on socket: ServerConnection?, _ reason: MHD_RequestTerminationCode
  ) {
    let isReceiving = exchange?.isReceiving ?? true
    if isReceiving {
      switch reason {
      case .REQUEST_TERMINATED_TIMEOUT_REACHED: socket?.fault = .timedOut(seconds: limits.idleSeconds)
      case .REQUEST_TERMINATED_CLIENT_ABORT: socket?.fault = .malformed("the request ended early")
      default: break
      }
    }
    if let exchange {
      exchange.finish()
      exchanges[ObjectIdentifier(exchange)] = nil
    }
    socket?.exchange = nil
    socket?.headDeadline = .now + .seconds(limits.idleSeconds + limits.headSeconds)
    socket?.readsRemainingBytes = isReceiving || exchange?.closesWithUnreadBytes == true
    if exchange?.closesWithUnreadBytes == true { socket?.hasSentLastReply = true }
    if let socket, !socket.readsRemainingBytes {
      idle.append(socket)
      if isFull { listener?.resume() }
    }
    mustRun = true
  }
}

// MARK: - Callbacks

private func daemon(_ context: UnsafeMutableRawPointer?) -> ServerDaemon {
  Unmanaged<ServerDaemon>.fromOpaque(context!).takeUnretainedValue()
}

@c private func onConnection(
  _ context: UnsafeMutableRawPointer?, _ connection: OpaquePointer?,
  _ socketContext: UnsafeMutablePointer<UnsafeMutableRawPointer?>?, _: MHD_ConnectionNotificationCode
) {
  guard let connection, let socketContext else { return }
  if let pointer = socketContext.pointee {
    daemon(context).disconnected(Unmanaged<ServerConnection>.fromOpaque(pointer).takeRetainedValue())
    socketContext.pointee = nil
  } else {
    socketContext.pointee = Unmanaged.passRetained(daemon(context).connected(connection)).toOpaque()
  }
}

/// Receives the target of the request line, exactly as the client sent it.
@c private func onTarget(
  _ context: UnsafeMutableRawPointer?, _ target: UnsafePointer<CChar>, _ connection: OpaquePointer
) -> UnsafeMutableRawPointer? {
  if let socket = ServerConnection.of(connection) {
    daemon(context).didReceiveTarget(String(cString: target), on: socket)
  }
  cmhd_drop_query(target)
  return nil
}

@c private func onRequest(
  _ context: UnsafeMutableRawPointer?, _ connection: OpaquePointer?, _ url: UnsafePointer<CChar>?,
  _ method: UnsafePointer<CChar>?, _ version: UnsafePointer<CChar>?, _ upload: UnsafePointer<CChar>?,
  _ size: UnsafeMutablePointer<Int>?, _ requestContext: UnsafeMutablePointer<UnsafeMutableRawPointer?>?
) -> MHD_Result {
  guard let connection, let requestContext, let size, let method, let url, let version else { return .NO }
  if let pointer = requestContext.pointee {
    return Unmanaged<Exchange>.fromOpaque(pointer).takeUnretainedValue().advance(upload, size)
  }
  guard let socket = ServerConnection.of(connection) else { return .NO }
  let parts = RequestHead.Parts(
    connection: connection, method: method, url: url, version: version, target: socket.target)
  guard let exchange = daemon(context).began(parts, on: socket) else { return .NO }
  requestContext.pointee = Unmanaged.passUnretained(exchange).toOpaque()
  return .YES
}

@c private func onCompleted(
  _ context: UnsafeMutableRawPointer?, _ connection: OpaquePointer?,
  _ requestContext: UnsafeMutablePointer<UnsafeMutableRawPointer?>?, _ reason: MHD_RequestTerminationCode
) {
  guard let connection else { return }
  let exchange = requestContext?.pointee.map { Unmanaged<Exchange>.fromOpaque($0).takeUnretainedValue() }
  requestContext?.pointee = nil
  daemon(context).ended(exchange, on: ServerConnection.of(connection), reason)
}

internal import CMicroHTTPD
internal import EventLoop
internal import Glibc
internal import HTTPTypes
internal import Synchronization

/// One libmicrohttpd daemon and the loop that drives it (`MHD_run`).
///
/// Its own threads are not used: their epoll loop stalls where exactly 128 sockets are ready at once, and one thread
/// that owns all of it needs no locks. libmicrohttpd has no wake-up channel in this mode, so whoever resumes a
/// connection rings the loop.
final class ServerDaemon: DescriptorHandler, @unchecked Sendable {
  // Unchecked: what is not behind `wakes` belongs to the loop's thread.
  private struct Wakes {
    var exchanges: [Exchange] = []
    var streams: [Exchange] = []
  }

  /// Bytes that a source of known length is asked for at once.
  let blockSize = 64 * 1024
  /// Chunked replies are built in the connection's own memory: libmicrohttpd only wants a buffer to be there.
  let chunkedBlockSize = 256
  private let loop: EventLoop
  private let limits: HTTPServer.Limits
  private let port: Int
  private let handler: HTTPHandler
  private let wakes = Mutex(Wakes())
  private var daemon: OpaquePointer?
  private var connections: [Int32: ServerConnection] = [:]
  private var exchanges: [ObjectIdentifier: Exchange] = [:]
  private var watched: [Int32: Exchange] = [:]
  private var mustRun = true
  private var timeoutTimer: LoopTimer?
  private var streamTimer: LoopTimer?
  private var lastStreamFlush = ContinuousClock.now
  private(set) var isDraining = false
  private var whenIdle: (() -> Void)?

  init(loop: EventLoop, limits: HTTPServer.Limits, port: Int, handler: @escaping HTTPHandler) {
    self.loop = loop
    self.limits = limits
    self.port = port
    self.handler = handler
  }

  // MARK: From any thread

  func resumeSoon(_ exchange: Exchange) {
    wakes.withLock { $0.exchanges.append(exchange) }
    loop.wake()
  }

  /// For streams, which are many and patient: their wake-ups are gathered.
  func resumeStreamSoon(_ exchange: Exchange) {
    wakes.withLock { $0.streams.append(exchange) }
    loop.wake()
  }

  // MARK: On the loop

  func start(listener: Int32) throws(HTTPServer.Failure) {
    var settings = cmhd_settings(
      listen_socket: listener, connection_limit: UInt32(limits.connections),
      connection_memory_limit: UInt32(limits.headerBytes), connection_timeout: UInt32(limits.idleSeconds),
      on_request: onRequest, on_completed: onCompleted, on_connection: onConnection, on_target: onTarget,
      context: Unmanaged.passUnretained(self).toOpaque())
    guard let daemon = cmhd_start(&settings) else {
      throw HTTPServer.Failure(message: "libmicrohttpd did not start")
    }
    self.daemon = daemon
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
    for exchange in woken { exchange.resume() }
    flushStreams()
    guard let daemon, mustRun || !woken.isEmpty else { return }
    mustRun = false
    MHD_run(daemon)
    rearm(daemon)
    if exchanges.isEmpty { becameIdle() }
  }

  /// Each flush walks every suspended connection, so the more there are, the rarer it is: at most every tenth of
  /// the time goes into it, and a lone client waits for nothing.
  private func flushStreams() {
    guard wakes.withLock({ !$0.streams.isEmpty }), streamTimer == nil else { return }
    let due = lastStreamFlush + .microseconds(min(50_000, 4 * exchanges.count))
    guard due <= .now else {
      streamTimer = loop.schedule(at: due) { [weak self] in self?.streamTimer = nil }
      return
    }
    lastStreamFlush = .now
    let streams = wakes.withLock { wakes in
      defer { wakes.streams.removeAll(keepingCapacity: true) }
      return wakes.streams
    }
    for exchange in streams { exchange.resume() }
    mustRun = true
  }

  private func rearm(_ daemon: OpaquePointer) {
    var milliseconds: CUnsignedLongLong = 0
    guard MHD_get_timeout(daemon, &milliseconds) == .YES else { return }
    if milliseconds == 0 {
      mustRun = true
      loop.wake()
    } else if timeoutTimer == nil {
      timeoutTimer = loop.schedule(at: .now + .milliseconds(min(Int(milliseconds), 1000))) { [weak self] in
        self?.timeoutTimer = nil
        self?.mustRun = true
      }
    }
  }

  /// Cuts connections whose request head takes too long: libmicrohttpd's own timeout starts anew with every byte.
  private func sweep() {
    guard daemon != nil else { return }
    let now = ContinuousClock.now
    for connection in connections.values {
      if let deadline = connection.headDeadline, deadline < now {
        shutdown(connection.descriptor, Int32(SHUT_RDWR))
        connection.headDeadline = nil
      }
    }
    loop.schedule(at: now + .seconds(1)) { [weak self] in self?.sweep() }
  }

  func watch(_ descriptor: Int32, _ exchange: Exchange) {
    watched[descriptor] = exchange
    loop.watch(descriptor, for: .hungUp, handler: self)
  }
  func unwatch(_ descriptor: Int32) {
    watched[descriptor] = nil
    loop.unwatch(descriptor)
  }

  /// Calls `action` a little later, and libmicrohttpd after it.
  func soon(_ action: @escaping () -> Void) {
    loop.schedule(at: .now + .milliseconds(50)) { [weak self] in
      action()
      self?.mustRun = true
    }
  }

  /// Ends endless streams, and calls `whenIdle` once all replies are sent. New requests are answered until then, so that others can
  /// hear that this process is about to stop; from then on there are no new connections.
  func drain(_ whenIdle: @escaping () -> Void) {
    guard daemon != nil, !isDraining else { return whenIdle() }
    isDraining = true
    self.whenIdle = whenIdle
    for exchange in exchanges.values where exchange.isStreaming { exchange.resume() }
    mustRun = true
    if exchanges.isEmpty { becameIdle() }
  }

  private func becameIdle() {
    guard let daemon, let whenIdle else { return }
    self.whenIdle = nil
    let listener = MHD_quiesce_daemon(daemon)
    if listener >= 0 { close(listener) }
    whenIdle()
  }

  /// Ends the daemon, whatever is under way.
  func stop() {
    guard let daemon else { return }
    whenIdle = nil
    loop.unwatch(cmhd_epoll_descriptor(daemon))
    for exchange in exchanges.values { exchange.abandon() }
    MHD_run(daemon)
    MHD_stop_daemon(daemon)
    self.daemon = nil
    exchanges.removeAll()
  }

  // MARK: libmicrohttpd's calls

  fileprivate func connected(_ connection: OpaquePointer) -> ServerConnection {
    let deadline = ContinuousClock.now + .seconds(limits.headSeconds)
    let opened = ServerConnection(descriptor: cmhd_descriptor(connection), headDeadline: deadline)
    connections[opened.descriptor] = opened
    return opened
  }

  fileprivate func disconnected(_ connection: ServerConnection) { connections[connection.descriptor] = nil }

  fileprivate func began(_ connection: OpaquePointer, method: String, target: String) -> Exchange? {
    let parsed = RequestHead.read(connection, method: method, target: target)
    if let context = cmhd_socket_context(connection) {
      Unmanaged<ServerConnection>.fromOpaque(context).takeUnretainedValue().headDeadline = nil
    }
    let exchange = Exchange(
      daemon: self, connection: connection, hasBody: parsed.hasBody, length: parsed.contentLength)
    exchanges[ObjectIdentifier(exchange)] = exchange
    let body = parsed.hasBody ? RequestBody(exchange, length: parsed.contentLength) : RequestBody([])
    let request = ServerRequest(
      head: parsed.head, path: parsed.path, query: parsed.query, body: body, localPort: port)
    if let fault = parsed.fault {
      exchange.start(request) { [limits] _ in limits.malformedReply(fault) }
    } else {
      exchange.start(request, handler)
    }
    return exchange
  }

  fileprivate func ended(_ exchange: Exchange, on connection: OpaquePointer) {
    exchange.finish()
    exchanges[ObjectIdentifier(exchange)] = nil
    if let context = cmhd_socket_context(connection) {
      let connection = Unmanaged<ServerConnection>.fromOpaque(context).takeUnretainedValue()
      connection.headDeadline = .now + .seconds(limits.idleSeconds + limits.headSeconds)
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

/// Called with the request line's target as it was sent.
@c private func onTarget(
  _ context: UnsafeMutableRawPointer?, _ target: UnsafePointer<CChar>, _ connection: OpaquePointer
) -> UnsafeMutableRawPointer? {
  if let pointer = cmhd_socket_context(connection) {
    Unmanaged<ServerConnection>.fromOpaque(pointer).takeUnretainedValue().target = String(cString: target)
  }
  return nil
}

@c private func onRequest(
  _ context: UnsafeMutableRawPointer?, _ connection: OpaquePointer?, _ url: UnsafePointer<CChar>?,
  _ method: UnsafePointer<CChar>?, _ version: UnsafePointer<CChar>?, _ upload: UnsafePointer<CChar>?,
  _ size: UnsafeMutablePointer<Int>?, _ requestContext: UnsafeMutablePointer<UnsafeMutableRawPointer?>?
) -> MHD_Result {
  guard let connection, let requestContext, let size, let method else { return .NO }
  if let pointer = requestContext.pointee {
    return Unmanaged<Exchange>.fromOpaque(pointer).takeUnretainedValue().advance(upload, size)
  }
  guard let socketContext = cmhd_socket_context(connection) else { return .NO }
  let target = Unmanaged<ServerConnection>.fromOpaque(socketContext).takeUnretainedValue().target
  guard
    let exchange = daemon(context).began(connection, method: String(cString: method), target: target)
  else { return .NO }
  requestContext.pointee = Unmanaged.passRetained(exchange).toOpaque()
  return .YES
}

@c private func onCompleted(
  _ context: UnsafeMutableRawPointer?, _ connection: OpaquePointer?,
  _ requestContext: UnsafeMutablePointer<UnsafeMutableRawPointer?>?, _ reason: MHD_RequestTerminationCode
) {
  guard let connection, let pointer = requestContext?.pointee else { return }
  let exchange = Unmanaged<Exchange>.fromOpaque(pointer).takeRetainedValue()
  requestContext?.pointee = nil
  daemon(context).ended(exchange, on: connection)
}

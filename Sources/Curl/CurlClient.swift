package import EventLoop

/// A request of a `CurlClient`. All calls are on the client's loop.
package protocol CurlExchange: EasyHandleDelegate {
  /// The request is over. Called once.
  /// - Parameters:
  ///   - easy: still tells about the request; it may serve another one afterwards.
  ///   - result: `.operationTimedOut` after the deadline, `.abortedByCallback` if the client ended it.
  func end(_ easy: EasyHandle, _ result: CurlResult)
}

/// Ferry's HTTP client for everything but tasks: other services, webhooks, probes. It connects directly, follows no redirect, and ends
/// each request once. On the loop's thread only, and until `close()`.
package final class CurlClient {
  private struct Running {
    let exchange: any CurlExchange
    let easy: EasyHandle
    let transport: CurlTransport
    let timer: LoopTimer?
  }

  private let loop: EventLoop
  private let maximumIdle: Int
  private let handles: EasyHandlePool
  private var transport: CurlTransport?
  /// Transports that close when their last request ends. Closed ones are removed by the next `renew()`.
  private var retired: [CurlTransport] = []
  private var running: [ObjectIdentifier: Running] = [:]
  package private(set) var isClosed = false

  /// - Parameter maximumIdle: connections, and handles, that are kept for later requests.
  package init(loop: EventLoop, maximumIdle: Int) {
    self.loop = loop
    self.maximumIdle = maximumIdle
    handles = EasyHandlePool(maximumIdle: maximumIdle)
  }

  /// Starts a request.
  /// - Parameters:
  ///   - timeout: for the whole request; nil: none.
  ///   - configure: sets the URL and other options.
  /// - Throws: the request could not be started. Then `exchange` gets no end.
  package func start(
    _ exchange: some CurlExchange, timeout: Duration? = nil,
    _ configure: (EasyHandle, MultiHandle) throws(CurlError) -> Void
  ) throws(CurlError) {
    guard !isClosed else { throw CurlError(result: .abortedByCallback, operation: "the service stops") }
    let transport = try open()
    let easy = try handles.take()
    try easy.set(.noSignal, to: 1)
    try easy.set(.pathAsIs, to: 1)
    try easy.set(.quickExit, to: 1)
    try easy.set(.protocols, to: "http,https")
    try easy.set(.proxy, to: "")
    try easy.set(.noProxy, to: "")
    try configure(easy, transport.multi)
    try easy.setCallbacks(exchange, in: transport.multi)
    let timer = timeout.map { timeout in
      loop.schedule(at: .now + timeout) { [weak self] in self?.end(easy, .operationTimedOut) }
    }
    // libcurl may be done with it before `add` returns.
    let id = ObjectIdentifier(easy)
    running[id] = Running(exchange: exchange, easy: easy, transport: transport, timer: timer)
    do throws(CurlError) { try transport.add(easy) } catch {
      running[id] = nil
      if let timer { loop.cancel(timer) }
      throw error
    }
  }

  package func setPaused(_ easy: EasyHandle, _ directions: FlowDirections) {
    running[ObjectIdentifier(easy)]?.transport.setPaused(easy, directions)
  }

  /// Ends a request that is running.
  package func end(_ easy: EasyHandle, _ result: CurlResult = .abortedByCallback) {
    guard let request = running[ObjectIdentifier(easy)] else { return }
    request.transport.remove(easy)
    finish(easy, result)
  }

  /// Later requests use new connections, name lookups and TLS sessions.
  package func renew() {
    retired.removeAll(where: \.isClosed)
    guard let transport else { return }
    retired.append(transport)
    self.transport = nil
    transport.closeWhenEmpty()
  }

  /// Ends all requests; before the loop stops.
  package func close() {
    isClosed = true
    for request in running.values { end(request.easy) }
    for transport in retired { transport.close() }
    transport?.close()
    (retired, transport) = ([], nil)
    handles.removeAll()
  }

  private func open() throws(CurlError) -> CurlTransport {
    if let transport { return transport }
    let opened = try CurlTransport(
      loop: loop, multiplexing: false, maximumIdleConnections: maximumIdle)
    opened.onCompletion = { [weak self] in self?.finish($0.easy, $0.result) }
    transport = opened
    return opened
  }

  private func finish(_ easy: EasyHandle, _ result: CurlResult) {
    guard let request = running.removeValue(forKey: ObjectIdentifier(easy)) else { return }
    if let timer = request.timer { loop.cancel(timer) }
    easy.delegate = nil
    request.exchange.end(easy, result)
    if result == .ok { handles.give(easy) }
  }
}

package import EventLoop

/// A request of a `CurlClient`. All calls are made on the client's loop.
package protocol CurlExchange: EasyHandleDelegate {
  /// Handles the end of the request. Called once.
  /// - Parameters:
  ///   - easy: The handle, with the request's information. It may serve another request afterwards.
  ///   - result: `.operationTimedOut` after the deadline, `.abortedByCallback` if the client ended the request.
  func end(_ easy: EasyHandle, _ result: CurlResult)
}

/// Ferry's HTTP client for everything except tasks: other services, webhooks, probes. It connects directly, follows no redirect, and ends
/// each request once. Used on the loop's thread only, and not after `close()`.
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

  /// - Parameter maximumIdle: The maximum number of connections, and of handles, that are kept for later requests.
  package init(loop: EventLoop, maximumIdle: Int) {
    self.loop = loop
    self.maximumIdle = maximumIdle
    handles = EasyHandlePool(maximumIdle: maximumIdle)
  }

  /// Starts a request.
  /// - Parameters:
  ///   - timeout: The timeout of the whole request; `nil` for none.
  ///   - configure: Sets the URL and other options.
  /// - Throws: An error if the request could not be started. `exchange` then gets no end.
  package func start(
    _ exchange: some CurlExchange, timeout: Duration? = nil,
    _ configure: (EasyHandle, MultiHandle) throws(CurlError) -> Void
  ) throws(CurlError) {
    guard !isClosed else { throw CurlError(result: .abortedByCallback, operation: "the service is stopping") }
    let transport = try open()
    let easy = try handles.dequeue()
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
    // The request may be complete before `add` returns.
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

  /// Ends a running request.
  package func end(_ easy: EasyHandle, _ result: CurlResult = .abortedByCallback) {
    guard let request = running[ObjectIdentifier(easy)] else { return }
    request.transport.remove(easy)
    finish(easy, result)
  }

  /// Makes later requests use new connections, name lookups and TLS sessions.
  package func renew() {
    retired.removeAll(where: \.isClosed)
    guard let transport else { return }
    retired.append(transport)
    self.transport = nil
    transport.closeWhenEmpty()
  }

  /// Ends all requests. Call this before the loop stops.
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
    if result == .ok { handles.enqueue(easy) }
  }
}

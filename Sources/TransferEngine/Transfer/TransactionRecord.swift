internal import Addresses
internal import Curl
internal import TransferModel

/// One request and its response, for the task's metrics (URLSessionTaskTransactionMetrics).
struct TransactionRecord {
  let request: TransferRequest
  /// The response's status; `nil` if there was no response.
  let status: Int?
  let isSecure: Bool
  let fetchStart: Timestamp
  /// The time of the end by Ferry's clock. libcurl's times are offsets from its own start.
  let end: Timestamp
  /// Whether the request ended with the end of its response.
  let isComplete: Bool
  /// The bytes of the request's body that were sent. `received` are those of the response's body after decoding.
  let sent: Int64
  let received: Int64
  let isProxied: Bool

  /// - Parameter classes: Returns the classes of the interface with an address.
  func metrics(
    _ easy: EasyHandle, classes: (_ localAddress: String) -> InterfaceClasses?
  ) -> TransactionMetrics {
    var metrics = TransactionMetrics()
    (metrics.url, metrics.method, metrics.status) = (request.url, request.method, status)
    noteTimes(of: easy, in: &metrics)
    noteConnection(of: easy, in: &metrics)
    metrics.networkClasses = metrics.localAddress.flatMap(classes)
    metrics.countOfRequestHeaderBytesSent = Int64(easy.info(.requestSize))
    metrics.countOfRequestBodyBytesSent = easy.info(.uploaded)
    metrics.countOfRequestBodyBytesBeforeEncoding = sent
    metrics.countOfResponseHeaderBytesReceived = Int64(easy.info(.headerSize))
    metrics.countOfResponseBodyBytesReceived = easy.info(.downloaded)
    metrics.countOfResponseBodyBytesAfterDecoding = received
    return metrics
  }

  private func noteTimes(of easy: EasyHandle, in metrics: inout TransactionMetrics) {
    let start = Timestamp(microseconds: end.microseconds - easy.info(.totalTime))
    func at(_ offset: Int64) -> Timestamp? {
      offset > 0 ? Timestamp(microseconds: start.microseconds + offset) : nil
    }
    metrics.fetchStart = min(fetchStart, start)
    metrics.isReusedConnection = easy.info(.connectionsMade) == 0 && status != nil
    if !metrics.isReusedConnection {
      metrics.domainLookupStart = start
      metrics.domainLookupEnd = at(easy.info(.nameLookupTime))
      metrics.connectStart = metrics.domainLookupEnd
      let connected = at(easy.info(.connectTime))
      metrics.secureConnectionStart = isSecure ? connected : nil
      metrics.secureConnectionEnd = isSecure ? at(easy.info(.appConnectTime)) : nil
      // If a phase fails, its end and all later times stay unset.
      metrics.connectEnd = isSecure ? metrics.secureConnectionEnd : connected
    }
    metrics.requestStart = at(easy.info(.preTransferTime))
    metrics.requestEnd = metrics.requestStart
    metrics.responseStart = at(easy.info(.startTransferTime))
    metrics.responseEnd = isComplete ? end : nil
  }

  private func noteConnection(of easy: EasyHandle, in metrics: inout TransactionMetrics) {
    metrics.networkProtocolName = [1: "http/1.0", 2: "http/1.1", 3: "h2"][easy.info(.httpVersion)]
    metrics.isProxyConnection = isProxied
    metrics.localAddress = easy.info(.localAddress)
    metrics.remoteAddress = easy.info(.remoteAddress)
    metrics.localPort = metrics.localAddress == nil ? nil : easy.info(.localPort)
    metrics.remotePort = metrics.remoteAddress == nil ? nil : easy.info(.remotePort)
    // With a proxy, the parameters could be those of the proxy's TLS connection, so an http URL reports none.
    let agreed = isSecure ? easy.tlsParameters : nil
    metrics.negotiatedTLSProtocolVersion = agreed?.version
    metrics.negotiatedTLSCipherSuite = agreed?.cipherSuite
  }
}

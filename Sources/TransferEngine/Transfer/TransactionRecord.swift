internal import Addresses
internal import Curl
internal import TransferModel

/// One request and its answer, as its metrics have it (URLSessionTaskTransactionMetrics).
struct TransactionRecord {
  let request: TransferRequest
  /// Of the answer, where one came.
  let status: Int?
  let isSecure: Bool
  let fetchStart: Timestamp
  /// libcurl counts from its own start; the end is ours.
  let end: Timestamp
  /// It ended with the end of its answer.
  let isComplete: Bool
  /// Bytes of the request's body that went out, and of the answer's when it is decoded.
  let sent: Int64
  let received: Int64
  let isProxied: Bool

  /// - Parameter classes: of the interface that has an address.
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
      // Where a phase fails, its end and all that would follow stay out.
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
    // A proxy may have TLS of its own.
    let agreed = isSecure ? easy.tlsParameters : nil
    metrics.negotiatedTLSProtocolVersion = agreed?.version
    metrics.negotiatedTLSCipherSuite = agreed?.cipherSuite
  }
}

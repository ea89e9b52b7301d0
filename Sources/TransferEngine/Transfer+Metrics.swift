internal import Curl
internal import TransferModel

extension Transfer {
  /// Closes the record of the request that just ended (URLSessionTaskTransactionMetrics).
  /// - Parameter isComplete: it ended with the end of its answer.
  func recordTransaction(_ easy: EasyHandle, isComplete: Bool) {
    var metrics = TransactionMetrics()
    (metrics.url, metrics.method, metrics.status) = (request.url, request.method, head?.status)
    let end = tools.now()
    recordTimes(of: easy, until: end, in: &metrics)
    metrics.responseEnd = isComplete ? end : nil
    recordConnection(of: easy, in: &metrics)
    metrics.countOfRequestHeaderBytesSent = Int64(easy.info(.requestSize))
    metrics.countOfRequestBodyBytesSent = easy.info(.uploaded)
    metrics.countOfRequestBodyBytesBeforeEncoding = sent
    metrics.countOfResponseHeaderBytesReceived = Int64(easy.info(.headerSize))
    metrics.countOfResponseBodyBytesReceived = easy.info(.downloaded)
    metrics.countOfResponseBodyBytesAfterDecoding = sink?.size ?? 0
    transactions.append(metrics)
  }

  /// - Parameter end: libcurl counts from its own start; its end is ours.
  private func recordTimes(of easy: EasyHandle, until end: Timestamp, in metrics: inout TransactionMetrics) {
    let start = Timestamp(microseconds: end.microseconds - easy.info(.totalTime))
    func at(_ offset: Int64) -> Timestamp? {
      offset > 0 ? Timestamp(microseconds: start.microseconds + offset) : nil
    }
    metrics.fetchStart = min(fetchStart, start)
    metrics.isReusedConnection = easy.info(.connectionsMade) == 0 && head != nil
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
  }

  private func recordConnection(of easy: EasyHandle, in metrics: inout TransactionMetrics) {
    metrics.networkProtocolName = [1: "http/1.0", 2: "http/1.1", 3: "h2"][easy.info(.httpVersion)]
    metrics.isProxyConnection = proxy != nil
    metrics.localAddress = easy.info(.localAddress)
    metrics.remoteAddress = easy.info(.remoteAddress)
    metrics.localPort = metrics.localAddress == nil ? nil : easy.info(.localPort)
    metrics.remotePort = metrics.remoteAddress == nil ? nil : easy.info(.remotePort)
    metrics.networkClasses = metrics.localAddress.flatMap { tools.networks.classes(ofLocal: $0) }
    // A proxy may have TLS of its own.
    let agreed = isSecure ? easy.tlsParameters : nil
    metrics.negotiatedTLSProtocolVersion = agreed?.version
    metrics.negotiatedTLSCipherSuite = agreed?.cipherSuite
  }

  private var isSecure: Bool { url.scheme == "https" }
}

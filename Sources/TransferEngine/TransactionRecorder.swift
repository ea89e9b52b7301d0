internal import Curl
internal import TransferModel

/// Reads a finished transfer's times and counts out of libcurl.
enum TransactionRecorder {
  static func record(
    _ easy: EasyHandle, request: TransferRequest, status: Int?, fetchStart: Timestamp, end: Timestamp,
    decoded: Int64, isComplete: Bool
  ) -> TransactionMetrics {
    var metrics = TransactionMetrics()
    metrics.url = request.url
    metrics.method = request.method
    metrics.status = status
    let total = easy.info(.totalTime)
    // libcurl counts from its own start; its end is ours.
    let start = Timestamp(microseconds: end.microseconds - total)
    metrics.fetchStart = min(fetchStart, start)
    func at(_ offset: Int64) -> Timestamp? {
      offset > 0 ? Timestamp(microseconds: start.microseconds + offset) : nil
    }
    metrics.isReusedConnection = easy.info(.connectionsMade) == 0 && status != nil
    if !metrics.isReusedConnection {
      metrics.domainLookupStart = start
      metrics.domainLookupEnd = at(easy.info(.nameLookupTime))
      metrics.connectStart = metrics.domainLookupEnd
      let connected = at(easy.info(.connectTime))
      let isSecure = request.url.hasPrefix("https:")
      metrics.secureConnectionStart = isSecure ? connected : nil
      metrics.secureConnectionEnd = isSecure ? at(easy.info(.appConnectTime)) : nil
      // Where a phase fails, its end and all that would follow stay out.
      metrics.connectEnd = isSecure ? metrics.secureConnectionEnd : connected
    }
    metrics.requestStart = at(easy.info(.preTransferTime))
    metrics.requestEnd = metrics.requestStart
    metrics.responseStart = at(easy.info(.startTransferTime))
    metrics.responseEnd = isComplete ? end : nil
    metrics.networkProtocolName = [1: "http/1.0", 2: "http/1.1", 3: "h2"][easy.info(.httpVersion)]
    metrics.localAddress = easy.info(.localAddress)
    metrics.remoteAddress = easy.info(.remoteAddress)
    metrics.localPort = metrics.localAddress == nil ? nil : easy.info(.localPort)
    metrics.remotePort = metrics.remoteAddress == nil ? nil : easy.info(.remotePort)
    metrics.countOfRequestHeaderBytesSent = Int64(easy.info(.requestSize))
    metrics.countOfRequestBodyBytesSent = easy.info(.uploaded)
    metrics.countOfResponseHeaderBytesReceived = Int64(easy.info(.headerSize))
    metrics.countOfResponseBodyBytesReceived = easy.info(.downloaded)
    metrics.countOfResponseBodyBytesAfterDecoding = decoded
    return metrics
  }
}

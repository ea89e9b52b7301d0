package import TransferModel

extension TransactionMetrics: MutableRecord {
  package mutating func members(_ coder: inout RecordCoder) throws(RecordFault) {
    try coder.field("url", &url)
    try coder.field("method", &method)
    try coder.field("status", &status)
    try coder.field("fetchStart", &fetchStart)
    try coder.field("domainLookupStart", &domainLookupStart)
    try coder.field("domainLookupEnd", &domainLookupEnd)
    try coder.field("connectStart", &connectStart)
    try coder.field("secureConnectionStart", &secureConnectionStart)
    try coder.field("secureConnectionEnd", &secureConnectionEnd)
    try coder.field("connectEnd", &connectEnd)
    try coder.field("requestStart", &requestStart)
    try coder.field("requestEnd", &requestEnd)
    try coder.field("responseStart", &responseStart)
    try coder.field("responseEnd", &responseEnd)
    try coder.field("networkProtocolName", &networkProtocolName)
    try coder.field("isFromCache", &isFromCache, else: false)
    try coder.field("isReusedConnection", &isReusedConnection, else: false)
    try coder.field("isProxyConnection", &isProxyConnection, else: false)
    try coder.field("localAddress", &localAddress)
    try coder.field("localPort", &localPort)
    try coder.field("remoteAddress", &remoteAddress)
    try coder.field("remotePort", &remotePort)
    try coder.field("networkClasses", &networkClasses)
    try coder.field("negotiatedTLSProtocolVersion", &negotiatedTLSProtocolVersion)
    try coder.field("negotiatedTLSCipherSuite", &negotiatedTLSCipherSuite)
    try coder.field("countOfRequestHeaderBytesSent", &countOfRequestHeaderBytesSent, else: 0)
    try coder.field("countOfRequestBodyBytesSent", &countOfRequestBodyBytesSent, else: 0)
    try coder.field("countOfRequestBodyBytesBeforeEncoding", &countOfRequestBodyBytesBeforeEncoding)
    try coder.field("countOfResponseHeaderBytesReceived", &countOfResponseHeaderBytesReceived, else: 0)
    try coder.field("countOfResponseBodyBytesReceived", &countOfResponseBodyBytesReceived, else: 0)
    try coder.field(
      "countOfResponseBodyBytesAfterDecoding", &countOfResponseBodyBytesAfterDecoding, else: 0)
  }
}

package import Addresses
package import JSON

/// URLSessionTaskTransactionMetrics: one request and its response, redirects included.
package struct TransactionMetrics: Sendable, Equatable {
  package var url = ""
  package var method = ""
  package var status: Int?
  package var fetchStart: Timestamp?
  package var domainLookupStart: Timestamp?
  package var domainLookupEnd: Timestamp?
  package var connectStart: Timestamp?
  package var secureConnectionStart: Timestamp?
  package var secureConnectionEnd: Timestamp?
  package var connectEnd: Timestamp?
  package var requestStart: Timestamp?
  package var requestEnd: Timestamp?
  package var responseStart: Timestamp?
  package var responseEnd: Timestamp?
  /// The ALPN name: `http/1.1`, `h2`.
  package var networkProtocolName: String?
  /// Whether the response came from the cache (resourceFetchType).
  package var isFromCache = false
  package var isReusedConnection = false
  package var isProxyConnection = false
  package var localAddress: String?
  package var localPort: Int?
  package var remoteAddress: String?
  package var remotePort: Int?
  /// The operator's classes of the interface that the request used (isCellular, isExpensive, isConstrained).
  package var networkClasses: InterfaceClasses?
  /// `TLSv1.3`.
  package var negotiatedTLSProtocolVersion: String?
  /// The IANA name: `TLS_AES_256_GCM_SHA384`.
  package var negotiatedTLSCipherSuite: String?
  package var countOfRequestHeaderBytesSent: Int64 = 0
  package var countOfRequestBodyBytesSent: Int64 = 0
  /// The bytes of the body itself, without chunk headers.
  package var countOfRequestBodyBytesBeforeEncoding: Int64?
  package var countOfResponseHeaderBytesReceived: Int64 = 0
  package var countOfResponseBodyBytesReceived: Int64 = 0
  package var countOfResponseBodyBytesAfterDecoding: Int64 = 0

  package init() {}
}

/// URLSessionTaskMetrics.
package struct TaskMetrics: Sendable, Equatable {
  /// From the task's creation to its end.
  package var start: Timestamp
  package var end: Timestamp
  package var transactions: [TransactionMetrics]
  /// The number of redirects. Requests that are repeated for another reason, such as a challenge, do not count.
  package var redirectCount: Int {
    transactions.dropLast().count { $0.status.map { (300..<400).contains($0) && $0 != 304 } ?? false }
  }

  package init(start: Timestamp, end: Timestamp, transactions: [TransactionMetrics]) {
    self.start = start
    self.end = end
    self.transactions = transactions
  }
}

extension TransactionMetrics: JSONEncodable {
  package func encode(into writer: inout JSONWriter) {
    writer.object { writer in
      writer.objectField("request") { writer in
        writer.field("url", url)
        writer.field("method", method)
      }
      writer.key("response")
      if let status { writer.object { $0.field("status", status) } } else { writer.null() }
      for (name, time) in times { if let time { writer.field(name, time) } }
      writer.field("networkProtocolName", networkProtocolName)
      writer.field("resourceFetchType", isFromCache ? "localCache" : "networkLoad")
      writer.field("isReusedConnection", isReusedConnection)
      writer.field("isProxyConnection", isProxyConnection)
      if let localAddress { writer.field("localAddress", localAddress) }
      if let localPort { writer.field("localPort", localPort) }
      if let remoteAddress { writer.field("remoteAddress", remoteAddress) }
      if let remotePort { writer.field("remotePort", remotePort) }
      let classes = networkClasses ?? []
      writer.field("isCellular", classes.contains(.cellular))
      writer.field("isExpensive", classes.contains(.expensive))
      writer.field("isConstrained", classes.contains(.constrained))
      writer.field("isMultipath", false)
      if let negotiatedTLSProtocolVersion {
        writer.field("negotiatedTLSProtocolVersion", negotiatedTLSProtocolVersion)
      }
      if let negotiatedTLSCipherSuite { writer.field("negotiatedTLSCipherSuite", negotiatedTLSCipherSuite) }
      writer.field("domainResolutionProtocol", "unknown")
      for (name, count) in counts { writer.field(name, count) }
    }
  }

  private var times: [(StaticString, Timestamp?)] {
    [
      ("fetchStartDate", fetchStart), ("domainLookupStartDate", domainLookupStart),
      ("domainLookupEndDate", domainLookupEnd), ("connectStartDate", connectStart),
      ("secureConnectionStartDate", secureConnectionStart), ("secureConnectionEndDate", secureConnectionEnd),
      ("connectEndDate", connectEnd), ("requestStartDate", requestStart), ("requestEndDate", requestEnd),
      ("responseStartDate", responseStart), ("responseEndDate", responseEnd),
    ]
  }

  private var counts: [(StaticString, Int64)] {
    [
      ("countOfRequestHeaderBytesSent", countOfRequestHeaderBytesSent),
      ("countOfRequestBodyBytesSent", countOfRequestBodyBytesSent),
      (
        "countOfRequestBodyBytesBeforeEncoding",
        countOfRequestBodyBytesBeforeEncoding ?? countOfRequestBodyBytesSent
      ),
      ("countOfResponseHeaderBytesReceived", countOfResponseHeaderBytesReceived),
      ("countOfResponseBodyBytesReceived", countOfResponseBodyBytesReceived),
      ("countOfResponseBodyBytesAfterDecoding", countOfResponseBodyBytesAfterDecoding),
    ]
  }
}

extension TaskMetrics: JSONEncodable {
  package func encode(into writer: inout JSONWriter) {
    writer.object { writer in
      writer.objectField("taskInterval") { writer in
        writer.field("start", start)
        writer.field("end", end)
        writer.field("duration", end.since(start))
      }
      writer.field("redirectCount", redirectCount)
      writer.arrayField("transactionMetrics", transactions) { $1.encode(into: &$0) }
    }
  }
}

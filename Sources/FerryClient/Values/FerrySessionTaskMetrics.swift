public import FoundationEssentials
internal import JSON

/// The measured times of a task. `URLSessionTaskMetrics` in Apple's URLSession.
public final class FerrySessionTaskMetrics: Sendable {
  /// The metrics of each request, in order.
  public let transactionMetrics: [FerrySessionTaskTransactionMetrics]
  /// The interval from the creation of the task to its end.
  public let taskInterval: DateInterval
  /// The number of redirects.
  public let redirectCount: Int

  init(_ json: JSONValue) {
    transactionMetrics = (json["transactionMetrics"]?.elements ?? []).map(
      FerrySessionTaskTransactionMetrics.init)
    let start = json["taskInterval"]?["start"]?.date ?? .distantPast
    let end = json["taskInterval"]?["end"]?.date ?? start
    taskInterval = DateInterval(start: start, end: max(start, end))
    redirectCount = json["redirectCount"]?.integer.map { Int($0) } ?? 0
  }
}

/// The measured times of one request. `URLSessionTaskTransactionMetrics` in Apple's URLSession.
public struct FerrySessionTaskTransactionMetrics: Sendable {
  /// The source of a response.
  public enum ResourceFetchType: String, Sendable { case unknown, networkLoad, serverPush, localCache }

  /// The request, with its URL and method only.
  public let request: FerryRequest
  /// The response, with its URL and status only; `nil` if there was none.
  public let response: FerryResponse?
  /// The version of HTTP, such as `h2`.
  public let networkProtocolName: String?
  /// Whether the connection was used before.
  public let isReusedConnection: Bool
  /// Whether a proxy was used.
  public let isProxyConnection: Bool
  /// The source of the response.
  public let resourceFetchType: ResourceFetchType
  /// The service's own address.
  public let localAddress: String?
  /// The service's own port.
  public let localPort: Int?
  /// The origin's address.
  public let remoteAddress: String?
  /// The origin's port.
  public let remotePort: Int?
  /// The version of TLS.
  public let negotiatedTLSProtocolVersion: FerryTLSVersion?
  /// The cipher suite of TLS.
  public let negotiatedTLSCipherSuite: String?
  /// Whether the operator classifies the interface as cellular.
  public let isCellular: Bool
  /// Whether the operator classifies the interface as expensive.
  public let isExpensive: Bool
  /// Whether the operator classifies the interface as constrained.
  public let isConstrained: Bool
  private let dates: [String: Date]
  private let counts: [String: Int64]

  init(_ json: JSONValue) {
    let request = FerryRequest(json["request"]) ?? FerryRequest()
    self.request = request
    response = json["response"]?.present.map { HTTPFerryResponse($0, url: request.url) }
    networkProtocolName = json["networkProtocolName"]?.string
    isReusedConnection = json["isReusedConnection"]?.bool ?? false
    isProxyConnection = json["isProxyConnection"]?.bool ?? false
    resourceFetchType = json["resourceFetchType"]?.string.flatMap(ResourceFetchType.init) ?? .unknown
    localAddress = json["localAddress"]?.string
    localPort = json["localPort"]?.integer.map { Int($0) }
    isCellular = json["isCellular"]?.bool ?? false
    isExpensive = json["isExpensive"]?.bool ?? false
    isConstrained = json["isConstrained"]?.bool ?? false
    remoteAddress = json["remoteAddress"]?.string
    remotePort = json["remotePort"]?.integer.map { Int($0) }
    negotiatedTLSProtocolVersion = json["negotiatedTLSProtocolVersion"]?.string.flatMap(
      FerryTLSVersion.init)
    negotiatedTLSCipherSuite = json["negotiatedTLSCipherSuite"]?.string
    let members = json.members ?? []
    dates = Dictionary(
      members.compactMap { member in
        member.name.hasSuffix("Date") ? member.value.date.map { (member.name, $0) } : nil
      }, uniquingKeysWith: { first, _ in first })
    counts = Dictionary(
      members.compactMap { member in
        member.name.hasPrefix("countOf") ? member.value.integer.map { (member.name, $0) } : nil
      }, uniquingKeysWith: { first, _ in first })
  }

  /// The time when Ferry began to fetch the resource.
  public var fetchStartDate: Date? { dates["fetchStartDate"] }
  /// The time when the name lookup began.
  public var domainLookupStartDate: Date? { dates["domainLookupStartDate"] }
  /// The time when the name lookup ended.
  public var domainLookupEndDate: Date? { dates["domainLookupEndDate"] }
  /// The time when the connection attempt began.
  public var connectStartDate: Date? { dates["connectStartDate"] }
  /// The time when the connection was ready.
  public var connectEndDate: Date? { dates["connectEndDate"] }
  /// The time when the TLS handshake began.
  public var secureConnectionStartDate: Date? { dates["secureConnectionStartDate"] }
  /// The time when the TLS handshake ended.
  public var secureConnectionEndDate: Date? { dates["secureConnectionEndDate"] }
  /// The time of the request's first byte.
  public var requestStartDate: Date? { dates["requestStartDate"] }
  /// The time of the request's last byte.
  public var requestEndDate: Date? { dates["requestEndDate"] }
  /// The time of the response's first byte.
  public var responseStartDate: Date? { dates["responseStartDate"] }
  /// The time of the response's last byte.
  public var responseEndDate: Date? { dates["responseEndDate"] }
  /// The bytes of the request's head.
  public var countOfRequestHeaderBytesSent: Int64 { counts["countOfRequestHeaderBytesSent"] ?? 0 }
  /// The bytes of the request's body, without the framing of a chunked body.
  public var countOfRequestBodyBytesBeforeEncoding: Int64 {
    counts["countOfRequestBodyBytesBeforeEncoding"] ?? 0
  }
  /// The bytes of the request's body.
  public var countOfRequestBodyBytesSent: Int64 { counts["countOfRequestBodyBytesSent"] ?? 0 }
  /// The bytes of the response's head.
  public var countOfResponseHeaderBytesReceived: Int64 { counts["countOfResponseHeaderBytesReceived"] ?? 0 }
  /// The bytes of the response's body, before decoding.
  public var countOfResponseBodyBytesReceived: Int64 { counts["countOfResponseBodyBytesReceived"] ?? 0 }
  /// The bytes of the response's body, after decoding.
  public var countOfResponseBodyBytesAfterDecoding: Int64 {
    counts["countOfResponseBodyBytesAfterDecoding"] ?? 0
  }
}

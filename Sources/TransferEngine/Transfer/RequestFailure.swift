internal import ContentCoding
internal import Curl
internal import CLinux
internal import EngineAPI
internal import Glibc
internal import TransferModel

/// The cause of a failed request, as a URLSession error or as one of Ferry's own. Pure.
struct RequestFailure {
  /// libcurl's information about a request, besides its result.
  struct Report {
    var message = ""
    /// OpenSSL's verification result. The server's last alert is `alert`.
    var verifyResult = 0
    var alert = 0
    var certificateRequest = CertificateRequest.none
    var errno = 0
    var headerSize = 0
    /// Whether no descriptor was left for its socket.
    var lacksDescriptor = false
    var proxyError = CurlProxyError(rawValue: 0)
  }

  let url: String
  let method: String
  /// The egress rule that refused the destination.
  var refusedRule: String?
  var network = ConnectionNetworks()
  /// The reason why the body that the client sent is unusable.
  var bodyFault: String?
  var refusesRepeat = false
  var isTooLarge = false
  var contentFault: ContentDecoder.Fault?
  var proxy: ProxyServer.Kind?
  /// The status of the proxy's response to CONNECT.
  var connectStatus: Int?
  var isPastConnect = false
  /// Whether a head was received. `hasResponse` says whether the task was shown a response.
  var hasHead = false
  var hasResponse = false
  var receivedBytes: Int64 = 0
  var isMultipartMalformed = false

  init(url: String, method: String) {
    self.url = url
    self.method = method
  }

  /// - Parameter report: `nil` if libcurl never had the request.
  func error(_ result: CurlResult, _ report: Report?) -> TransferError {
    if let rule = refusedRule, result == .couldntConnect || result == .abortedByCallback {
      return TransferError(
        .destinationNotPermitted, "the destination is not permitted; the rule says why",
        failingURL: url, rule: rule)
    }
    if let error = network.failure(result, url: url) { return error }
    if result == .abortedByCallback, let bodyFault {
      return TransferError(.requestBodyStreamExhausted, bodyFault, failingURL: url)
    }
    if result == .couldntConnect, report?.lacksDescriptor == true {
      return TransferError(
        .cannotConnectToHost, "the process has no free file descriptor for a connection", failingURL: url,
        underlying: .init(library: "posix", code: Int(EMFILE)))
    }
    if refusesRepeat, result == .abortedByCallback || result == .sendFailRewind {
      return TransferError(
        .networkConnectionLost,
        "the connection was lost before a response; a \(method) is not sent twice", failingURL: url)
    }
    if isTooLarge { return TransferError(.bodyTooLarge, "the body is larger than allowed", failingURL: url) }
    if let contentFault { return Self.error(contentFault, hasResponse: hasResponse, url: url) }
    if let error = proxyFailure(result, report) { return error }
    if !hasHead, let error = headFailure(result, report) { return error }
    if isMultipartMalformed {
      return TransferError(.cannotParseResponse, "the multipart response is malformed", failingURL: url)
    }
    let report = report ?? Report()
    return FailureMapping.error(
      FailureMapping.Cause(
        result: result, message: report.message, receivedHead: hasResponse, receivedBytes: receivedBytes,
        verifyResult: report.verifyResult, alert: report.alert,
        certificateRequest: report.certificateRequest, errno: report.errno),
      url: url)
  }

  /// Returns the error of content that cannot be decoded, mapped as libcurl's error for that.
  static func error(_ fault: ContentDecoder.Fault, hasResponse: Bool, url: String) -> TransferError {
    FailureMapping.error(
      FailureMapping.Cause(
        result: fault == .outOfMemory ? .outOfMemory : .badContentEncoding,
        message: fault == .outOfMemory ? "out of memory" : "malformed", receivedHead: hasResponse),
      url: url)
  }

  /// Returns whether a SOCKS proxy refused the connection because it requires a user and password.
  static func wantsSOCKSLogin(_ proxy: ProxyServer.Kind?, _ result: CurlResult, _ error: CurlProxyError)
    -> Bool
  {
    proxy == .socks5 && result == .proxy && [.noAuth, .userRejected].contains(error)
  }

  private func proxyFailure(_ result: CurlResult, _ report: Report?) -> TransferError? {
    guard let proxy, !isPastConnect, result != .ok else { return nil }
    let underlying = TransferError.Underlying(library: "libcurl", code: result.code)
    let isLogin = report.map { Self.wantsSOCKSLogin(proxy, result, $0.proxyError) } ?? false
    if connectStatus == 407 || isLogin {
      return TransferError(
        .userAuthenticationRequired, "the proxy requires credentials", failingURL: url, underlying: underlying
      )
    }
    guard let connectStatus, !(200..<300).contains(connectStatus) else { return nil }
    return TransferError(
      .cannotConnectToHost, "the proxy refused the tunnel with status \(connectStatus)", failingURL: url,
      underlying: underlying)
  }

  /// Returns the error of a malformed head, which libcurl reports under another result or not at all.
  private func headFailure(_ result: CurlResult, _ report: Report?) -> TransferError? {
    func error(_ code: URLErrorCode, _ message: String) -> TransferError {
      TransferError(
        code, message, failingURL: url, underlying: .init(library: "libcurl", code: result.code))
    }
    switch result {
    // libcurl accepts the end of the connection within a head, because closing ends an HTTP/1.0 response.
    case .ok: return error(.networkConnectionLost, "the connection was lost within the head of the response")
    // Ferry requests no transfer codings; libcurl 8 refuses them at the head.
    case .badContentEncoding:
      return error(.cannotParseResponse, "the response has a transfer coding that Ferry did not request")
    // A new handle of libcurl 7.88 reports a head that begins with a folded field as this error.
    case .badFunctionArgument: return error(.cannotParseResponse, "the head of the response is malformed")
    // libcurl's limits are 100 KiB for a line and 300 KiB for a head.
    case .outOfMemory, .tooLarge: return error(.cannotParseResponse, "the head of the response is too large")
    case .recvError where report?.headerSize ?? 0 > 300 * 1024:
      return error(.cannotParseResponse, "the head of the response is too large")
    default: return nil
    }
  }
}

extension RequestFailure.Report {
  init(_ easy: EasyHandle) {
    self.init(
      message: easy.errorMessage, verifyResult: easy.info(.sslVerifyResult), alert: easy.tlsAlert,
      certificateRequest: easy.certificateRequest, errno: easy.info(.osErrno),
      headerSize: easy.info(.headerSize), lacksDescriptor: easy.lacksDescriptor, proxyError: easy.proxyError)
  }
}

extension RequestFailure {
  /// Collects the failure's facts from a transfer.
  init(of transfer: Transfer) {
    self.init(url: transfer.request.url, method: transfer.request.method)
    refusedRule = transfer.gate.refusedRule
    network = transfer.network
    bodyFault = (transfer.source as? UploadStream)?.fault?.description
    refusesRepeat = transfer.connectionProgress.refusesRepeat
    isTooLarge = transfer.sink?.isTooLarge == true
    contentFault = transfer.content.fault
    proxy = transfer.proxy?.server.kind
    connectStatus = transfer.received.connectHead?.status
    isPastConnect = transfer.connectionProgress.isPastConnect
    (hasHead, hasResponse) = (transfer.received.head != nil, transfer.response != nil)
    receivedBytes = transfer.sink?.size ?? 0
    isMultipartMalformed = transfer.received.multipart?.isMalformed == true
  }
}

extension Transfer {
  /// - Parameter easy: `nil` if libcurl never had the request.
  func failure(_ result: CurlResult, _ easy: EasyHandle?) -> TransferError {
    RequestFailure(of: self).error(result, easy.map { RequestFailure.Report($0) })
  }
}

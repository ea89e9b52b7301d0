internal import ContentCoding
internal import Curl
internal import CLinux
internal import EngineAPI
internal import Glibc
internal import TransferModel

/// Why a request failed, in URLSession's words, or in Ferry's own where Ferry caused it. Pure.
struct RequestFailure {
  /// What libcurl says of a request beside its result.
  struct Report {
    var message = ""
    /// OpenSSL's verification result, and the server's last alert.
    var verifyResult = 0
    var alert = 0
    var certificateRequest = CertificateRequest.none
    var errno = 0
    var headerSize = 0
    /// No descriptor was left for its socket.
    var lacksDescriptor = false
    var proxyError = CurlProxyError(rawValue: 0)
  }

  let url: String
  let method: String
  /// The rule of egress that refused its destination.
  var refusedRule: String?
  var network = NetworkTrial()
  /// Why the body that was sent is none.
  var bodyFault: String?
  var refusesRepeat = false
  var isTooLarge = false
  var contentFault: ContentDecoder.Fault?
  var proxy: ProxyServer.Kind?
  /// Of the proxy's answer to CONNECT.
  var connectStatus: Int?
  var isPastConnect = false
  /// The head of an answer came, and was shown to the task.
  var hasHead = false
  var hasResponse = false
  var receivedBytes: Int64 = 0
  var isMultipartMalformed = false

  init(url: String, method: String) {
    self.url = url
    self.method = method
  }

  /// - Parameter report: nil where it never came to libcurl.
  func error(_ result: CurlResult, _ report: Report?) -> TransferError {
    if let rule = refusedRule, result == .couldntConnect || result == .abortedByCallback {
      return TransferError(.destinationNotPermitted, "destination not permitted", failingURL: url, rule: rule)
    }
    if let error = network.failure(result, url: url) { return error }
    if result == .abortedByCallback, let bodyFault {
      return TransferError(.requestBodyStreamExhausted, bodyFault, failingURL: url)
    }
    if result == .couldntConnect, report?.lacksDescriptor == true {
      return TransferError(
        .cannotConnectToHost, "no descriptor is left for a connection", failingURL: url,
        underlying: .init(library: "posix", code: Int(EMFILE)))
    }
    if refusesRepeat, result == .abortedByCallback || result == .sendFailRewind {
      return TransferError(
        .networkConnectionLost,
        "the connection was lost before an answer came; a \(method) is not sent twice", failingURL: url)
    }
    if isTooLarge { return TransferError(.bodyTooLarge, "the body is larger than allowed", failingURL: url) }
    if let contentFault { return Self.error(contentFault, hasResponse: hasResponse, url: url) }
    if let error = proxyFailure(result, report) { return error }
    if !hasHead, let error = headFailure(result, report) { return error }
    if isMultipartMalformed {
      return TransferError(.cannotParseResponse, "the multipart answer is malformed", failingURL: url)
    }
    let report = report ?? Report()
    return FailureMapping.error(
      FailureMapping.Cause(
        result: result, message: report.message, receivedHead: hasResponse, receivedBytes: receivedBytes,
        verifyResult: report.verifyResult, alert: report.alert,
        certificateRequest: report.certificateRequest, errno: report.errno),
      url: url)
  }

  /// The content of an answer cannot be decoded, in the words that libcurl has for it.
  static func error(_ fault: ContentDecoder.Fault, hasResponse: Bool, url: String) -> TransferError {
    FailureMapping.error(
      FailureMapping.Cause(
        result: fault == .outOfMemory ? .outOfMemory : .badContentEncoding,
        message: fault == .outOfMemory ? "out of memory" : "malformed", receivedHead: hasResponse),
      url: url)
  }

  /// A SOCKS proxy refused for want of a user and password.
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
        .userAuthenticationRequired, "the proxy wants credentials", failingURL: url, underlying: underlying)
    }
    guard let connectStatus, !(200..<300).contains(connectStatus) else { return nil }
    return TransferError(
      .cannotConnectToHost, "the proxy refused the tunnel with status \(connectStatus)", failingURL: url,
      underlying: underlying)
  }

  /// What libcurl tells of a head in other words, or not at all.
  private func headFailure(_ result: CurlResult, _ report: Report?) -> TransferError? {
    func error(_ code: URLErrorCode, _ message: String) -> TransferError {
      TransferError(
        code, message, failingURL: url, underlying: .init(library: "libcurl", code: result.code))
    }
    switch result {
    // An end within a head is none to libcurl: closing is how HTTP/1.0 ends an answer.
    case .ok: return error(.networkConnectionLost, "the connection was lost within the head of the answer")
    // Nobody asks for transfer codings; libcurl 8 refuses them at the head.
    case .badContentEncoding:
      return error(.cannotParseResponse, "the answer has a transfer coding that nobody asked for")
    // A fresh handle of 7.88 refuses a head that begins with a folded field in these words.
    case .badFunctionArgument: return error(.cannotParseResponse, "the head of the answer is malformed")
    // It takes 100 KiB for a line and 300 KiB for a head.
    case .outOfMemory, .tooLarge: return error(.cannotParseResponse, "the head of the answer is too large")
    case .recvError where report?.headerSize ?? 0 > 300 * 1024:
      return error(.cannotParseResponse, "the head of the answer is too large")
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
  /// What a transfer knows of a failure.
  init(of transfer: Transfer) {
    self.init(url: transfer.request.url, method: transfer.request.method)
    refusedRule = transfer.gate.refusedRule
    network = transfer.network
    bodyFault = (transfer.source as? UploadStream)?.fault?.description
    refusesRepeat = transfer.contact.refusesRepeat
    isTooLarge = transfer.sink?.isTooLarge == true
    contentFault = transfer.content.fault
    proxy = transfer.proxy?.server.kind
    connectStatus = transfer.answer.connectHead?.status
    isPastConnect = transfer.contact.isPastConnect
    (hasHead, hasResponse) = (transfer.answer.head != nil, transfer.response != nil)
    receivedBytes = transfer.sink?.size ?? 0
    isMultipartMalformed = transfer.answer.multipart?.isMalformed == true
  }
}

extension Transfer {
  /// - Parameter easy: nil where it never came to libcurl.
  func failure(_ result: CurlResult, _ easy: EasyHandle?) -> TransferError {
    RequestFailure(of: self).error(result, easy.map { RequestFailure.Report($0) })
  }
}

internal import Curl
internal import CLinux
internal import Glibc
internal import TransferModel

/// The mapping of libcurl's and OpenSSL's failures to NSURLErrorDomain codes.
enum FailureMapping {
  /// The facts of a failure.
  struct Cause {
    var result: CurlResult
    /// libcurl's message.
    var message = ""
    var receivedHead = false
    var receivedBytes: Int64 = 0
    /// OpenSSL's verification result (X509_V_ERR_…).
    var verifyResult = 0
    /// The server's last alert on the connection (RFC 8446 §6); 0 if there was none.
    var alert = 0
    var certificateRequest = CertificateRequest.none
    /// The error number of the connection that could not be made.
    var errno = 0
  }

  static func error(_ cause: Cause, url: String) -> TransferError {
    let (code, message) = classify(cause)
    return TransferError(
      code, message, failingURL: url, underlying: .init(library: "libcurl", code: cause.result.code))
  }

  private static func classify(_ cause: Cause) -> (URLErrorCode, String) {
    switch cause.result {
    // The URL was checked before, so the response's status line is at fault.
    case .unsupportedProtocol: (.cannotParseResponse, "the response's status line is malformed")
    case .malformedURL: (.badURL, "bad URL")
    case .couldntResolveHost, .couldntResolveProxy: (.cannotFindHost, "the host's name could not be resolved")
    case .couldntConnect: connection(cause)
    case .proxy: (.cannotConnectToHost, "the proxy did not connect to the host")
    case .weirdServerReply: (.cannotParseResponse, "the response is not HTTP")
    case .gotNothing:
      refusal(cause) ?? (.badServerResponse, "the server closed the connection without a response")
    case .partialFile where cause.receivedHead && cause.receivedBytes == 0:
      (.zeroByteResource, "the server announced a body and closed the connection without one")
    case .partialFile, .recvError, .sendError, .http2, .http2Stream: lost(cause)
    case .operationTimedOut: (.timedOut, "timed out")
    case .badContentEncoding: (.cannotDecodeRawData, "the content could not be decoded")
    case .abortedByCallback, .sendFailRewind:
      (.requestBodyStreamExhausted, "the request's body could not be read to its end")
    case .sslConnectError, .sslCipher: handshake(cause)
    case .sslCertificateProblem: (.clientCertificateRejected, "the client certificate cannot be used")
    case .peerFailedVerification: certificate(cause.verifyResult)
    case .tooManyRedirects: (.httpTooManyRedirects, "too many redirects")
    default: (.unknown, cause.message.isEmpty ? "transfer failed" : "transfer failed: \(cause.message)")
    }
  }

  private static func connection(_ cause: Cause) -> (URLErrorCode, String) {
    switch Int32(clamping: cause.errno) {
    case ENETUNREACH, ENETDOWN: (.notConnectedToInternet, "no network leads to the host")
    default: (.cannotConnectToHost, "could not connect to the host")
    }
  }

  private static func lost(_ cause: Cause) -> (URLErrorCode, String) {
    if let refusal = refusal(cause) { return refusal }
    if cause.message.contains("chunk") {
      return (.cannotParseResponse, "the chunked coding of the response is malformed")
    }
    return (
      .networkConnectionLost,
      cause.receivedHead ? "the connection was lost" : "the connection was lost before a response"
    )
  }

  /// Returns the error of a server that required a certificate and refused the client. The server closes the connection in the handshake
  /// or, in TLS 1.3, after it. Its alert depends on the server, and a client that is still writing may not receive it.
  private static func refusal(_ cause: Cause) -> (URLErrorCode, String)? {
    // An error of HTTP/2 shows that the server has accepted the client.
    let isInside = cause.result == .http2 || cause.result == .http2Stream
    switch isInside ? .none : cause.certificateRequest {
    case .unmet: return refusal(alert: certificateRequired)
    case .answered: return refusal(alert: badCertificate)
    case .none: return refusal(cause.message) ?? (cause.receivedHead ? nil : refusal(alert: cause.alert))
    }
  }

  /// Returns the error of an alert about the client's certificate, found in libcurl's message.
  private static func refusal(_ message: String) -> (URLErrorCode, String)? {
    if message.contains("alert certificate required") { return refusal(alert: certificateRequired) }
    let alerts = [
      "bad certificate", "unknown ca", "certificate expired", "certificate revoked", "certificate unknown",
      "unsupported certificate",
    ]
    guard alerts.contains(where: { message.contains("alert \($0)") }) else { return nil }
    return refusal(alert: badCertificate)
  }

  private static let badCertificate = 42
  private static let certificateRequired = 116

  /// Returns the error of an alert by its number (RFC 8446 §6): bad_certificate to certificate_unknown, unknown_ca, certificate_required.
  private static func refusal(alert: Int) -> (URLErrorCode, String)? {
    switch alert {
    case badCertificate...46, 48:
      (.clientCertificateRejected, "the server refuses the client certificate")
    case certificateRequired: (.clientCertificateRequired, "the server requires a client certificate")
    default: nil
    }
  }

  private static func handshake(_ cause: Cause) -> (URLErrorCode, String) {
    if let refusal = refusal(cause) { return refusal }
    let isRefused = cause.message.contains("alert handshake failure")
    return (
      .secureConnectionFailed, isRefused ? "the server refused the TLS handshake" : "the TLS handshake failed"
    )
  }

  /// Maps OpenSSL's verification result (X509_V_ERR_…) to the codes that Apple distinguishes.
  static func certificate(_ verifyResult: Int) -> (URLErrorCode, String) {
    switch verifyResult {
    case 9: (.serverCertificateNotYetValid, "the server's certificate is not yet valid")
    case 10: (.serverCertificateHasBadDate, "the server's certificate has expired")
    case 2, 18, 19, 20, 21: (.serverCertificateHasUnknownRoot, "the server's certificate has an unknown root")
    default: (.serverCertificateUntrusted, "the server's certificate is not trusted for this host")
    }
  }
}

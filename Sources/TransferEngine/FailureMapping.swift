internal import Curl
internal import TransferModel

/// libcurl's results as NSURLErrorDomain codes.
enum FailureMapping {
  static func error(_ result: CurlResult, url: String, receivedHead: Bool, verifyResult: Int) -> TransferError
  {
    let (code, message) = classify(result, receivedHead: receivedHead, verifyResult: verifyResult)
    return TransferError(
      code, message, failingURL: url, underlying: .init(library: "libcurl", code: result.code))
  }

  private static func classify(
    _ result: CurlResult, receivedHead: Bool, verifyResult: Int
  ) -> (URLErrorCode, String) {
    switch result {
    // The URL was checked before: what is left is an answer without a status line (HTTP/0.9).
    case .unsupportedProtocol: (.cannotParseResponse, "the answer has no status line")
    case .malformedURL: (.badURL, "bad URL")
    case .couldntResolveHost, .couldntResolveProxy: (.cannotFindHost, "the host's name could not be resolved")
    case .couldntConnect: (.cannotConnectToHost, "could not connect to the host")
    case .weirdServerReply: (.cannotParseResponse, "the answer is not HTTP")
    case .gotNothing: (.badServerResponse, "the server closed the connection without an answer")
    case .partialFile, .recvError, .sendError, .http2, .http2Stream:
      (
        .networkConnectionLost,
        receivedHead ? "the connection was lost" : "the connection was lost before an answer"
      )
    case .operationTimedOut: (.timedOut, "timed out")
    case .badContentEncoding: (.cannotDecodeContentData, "the content could not be decoded")
    case .sslConnectError, .sslCipher: (.secureConnectionFailed, "the TLS handshake failed")
    case .sslCertificateProblem: (.clientCertificateRejected, "problem with the client certificate")
    case .peerFailedVerification: certificate(verifyResult)
    case .tooManyRedirects: (.httpTooManyRedirects, "too many redirects")
    default: (.unknown, "transfer failed")
    }
  }

  /// OpenSSL's verification result (X509_V_ERR_…), as far as Apple tells them apart.
  private static func certificate(_ verifyResult: Int) -> (URLErrorCode, String) {
    switch verifyResult {
    case 9: (.serverCertificateNotYetValid, "the server's certificate is not yet valid")
    case 10: (.serverCertificateHasBadDate, "the server's certificate has expired")
    case 2, 18, 19, 20, 21: (.serverCertificateHasUnknownRoot, "the server's certificate has an unknown root")
    default: (.serverCertificateUntrusted, "the server's certificate is not trusted for this host")
    }
  }
}

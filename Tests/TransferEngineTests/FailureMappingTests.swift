import Curl
import Testing
import TransferModel

@testable import TransferEngine

@Suite struct FailureMappingTests {
  private func map(_ code: Int, receivedHead: Bool = false, verifyResult: Int = 0) -> TransferError {
    map(.init(result: CurlResult(code: code), receivedHead: receivedHead, verifyResult: verifyResult))
  }

  private func map(_ cause: FailureMapping.Cause) -> TransferError {
    FailureMapping.error(cause, url: "http://a/")
  }

  /// libcurl read the alert only when it closed the connection, because a write had failed before.
  @Test(
    arguments: [
      (116, .clientCertificateRequired), (42, .clientCertificateRejected), (48, .clientCertificateRejected),
      (0, .networkConnectionLost), (40, .networkConnectionLost),
    ] as [(Int, URLErrorCode)])
  func `alert explains a lost connection`(_ alert: Int, _ code: URLErrorCode) {
    for result in [CurlResult.sendError, .recvError] {
      var cause = FailureMapping.Cause(result: result, message: "Broken pipe", alert: alert)
      #expect(FailureMapping.error(cause, url: "https://a/").reason == .url(code))
      cause.receivedHead = true
      #expect(FailureMapping.error(cause, url: "https://a/").reason == .url(.networkConnectionLost))
    }
  }

  /// A certificate request that was not satisfied explains the loss of the connection.
  @Test(arguments: [
    (CertificateRequest.unmet, URLErrorCode.clientCertificateRequired),
    (.answered, .clientCertificateRejected),
  ])
  func `certificate request explains a loss`(_ request: CertificateRequest, _ code: URLErrorCode) {
    for result in [CurlResult.sslConnectError, .gotNothing, .recvError, .sendError, .partialFile] {
      for alert in [0, 40, 42, 116] {
        let cause = FailureMapping.Cause(result: result, alert: alert, certificateRequest: request)
        #expect(map(cause).reason == .url(code))
      }
    }
    for (result, code) in [
      (CurlResult.peerFailedVerification, URLErrorCode.serverCertificateUntrusted),
      (.couldntConnect, .cannotConnectToHost), (.http2Stream, .networkConnectionLost),
    ] {
      #expect(map(.init(result: result, certificateRequest: request)).reason == .url(code))
    }
  }

  /// The result codes of curl.h.
  @Test(
    arguments: [
      (1, .cannotParseResponse), (3, .badURL), (5, .cannotFindHost), (6, .cannotFindHost),
      (7, .cannotConnectToHost),
      (8, .cannotParseResponse), (16, .networkConnectionLost), (18, .networkConnectionLost), (23, .unknown),
      (27, .unknown), (28, .timedOut), (35, .secureConnectionFailed), (42, .requestBodyStreamExhausted),
      (65, .requestBodyStreamExhausted),
      (47, .httpTooManyRedirects),
      (52, .badServerResponse), (55, .networkConnectionLost), (56, .networkConnectionLost),
      (58, .clientCertificateRejected), (59, .secureConnectionFailed), (60, .serverCertificateUntrusted),
      (61, .cannotDecodeRawData), (92, .networkConnectionLost), (999, .unknown),
    ] as [(Int, URLErrorCode)])
  func `each libcurl code becomes a URLError code`(_ code: Int, _ expected: URLErrorCode) {
    let error = map(code)
    #expect(error.reason == .url(expected))
    #expect(error.failingURL == "http://a/")
    #expect(error.underlying == .init(library: "libcurl", code: code))
    #expect(!error.message.isEmpty)
  }

  /// OpenSSL's X509_V_ERR_ numbers.
  @Test(
    arguments: [
      (0, .serverCertificateUntrusted), (2, .serverCertificateHasUnknownRoot),
      (9, .serverCertificateNotYetValid),
      (10, .serverCertificateHasBadDate), (18, .serverCertificateHasUnknownRoot),
      (19, .serverCertificateHasUnknownRoot), (20, .serverCertificateHasUnknownRoot),
      (21, .serverCertificateHasUnknownRoot), (23, .serverCertificateUntrusted),
      (62, .serverCertificateUntrusted),
    ] as [(Int, URLErrorCode)])
  func `each verification error becomes a code`(_ verifyResult: Int, _ expected: URLErrorCode) {
    #expect(map(60, verifyResult: verifyResult).reason == .url(expected))
    #expect(map(35, verifyResult: verifyResult).reason == .url(.secureConnectionFailed))
  }

  @Test(
    arguments: [
      (35, "sslv3 alert handshake failure", .secureConnectionFailed),
      (56, "tlsv13 alert certificate required", .clientCertificateRequired),
      (56, "sslv3 alert bad certificate", .clientCertificateRejected),
      (56, "tlsv1 alert unknown ca", .clientCertificateRejected),
      (35, "tlsv1 alert unknown ca", .clientCertificateRejected),
      (35, "sslv3 alert bad certificate", .clientCertificateRejected),
      (35, "sslv3 alert unsupported certificate", .clientCertificateRejected),
      (56, "sslv3 alert certificate expired", .clientCertificateRejected),
      (56, "sslv3 alert certificate revoked", .clientCertificateRejected),
      (56, "sslv3 alert certificate unknown", .clientCertificateRejected),
      (56, "tlsv1 alert internal error", .networkConnectionLost),
      (56, "Illegal or missing hexadecimal sequence in chunked-encoding", .cannotParseResponse),
      (56, "Connection reset by peer", .networkConnectionLost),
    ] as [(Int, String, URLErrorCode)])
  func `alert in the message sets the code`(_ code: Int, _ message: String, _ expected: URLErrorCode) {
    #expect(map(.init(result: CurlResult(code: code), message: message)).reason == .url(expected))
  }

  @Test(
    arguments: [(111, .cannotConnectToHost), (101, .notConnectedToInternet), (100, .notConnectedToInternet)]
      as [(Int, URLErrorCode)])
  func `errno explains a refused connection`(_ errno: Int, _ expected: URLErrorCode) {
    #expect(map(.init(result: .couldntConnect, errno: errno)).reason == .url(expected))
  }

  @Test func `announced body without bytes has its own code`() {
    let before = FailureMapping.Cause(result: .partialFile, receivedHead: true)
    #expect(map(before).reason == .url(.zeroByteResource))
    let within = FailureMapping.Cause(result: .partialFile, receivedHead: true, receivedBytes: 1)
    #expect(map(within).reason == .url(.networkConnectionLost))
  }

  @Test func `message says whether a response was received`() {
    #expect(map(56, receivedHead: true).message != map(56).message)
  }
}

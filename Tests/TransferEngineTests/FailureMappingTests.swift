import Curl
import Testing
import TransferModel

@testable import TransferEngine

@Suite struct FailureMappingTests {
  private func map(_ code: Int, receivedHead: Bool = false, verifyResult: Int = 0) -> TransferError {
    FailureMapping.error(
      CurlResult(code: code), url: "http://a/", receivedHead: receivedHead, verifyResult: verifyResult)
  }

  /// libcurl's numbers as curl.h has them.
  @Test(
    arguments: [
      (1, .cannotParseResponse), (3, .badURL), (5, .cannotFindHost), (6, .cannotFindHost),
      (7, .cannotConnectToHost),
      (8, .cannotParseResponse), (16, .networkConnectionLost), (18, .networkConnectionLost), (23, .unknown),
      (27, .unknown), (28, .timedOut), (35, .secureConnectionFailed), (42, .unknown),
      (47, .httpTooManyRedirects),
      (52, .badServerResponse), (55, .networkConnectionLost), (56, .networkConnectionLost),
      (58, .clientCertificateRejected), (59, .secureConnectionFailed), (60, .serverCertificateUntrusted),
      (61, .cannotDecodeContentData), (92, .networkConnectionLost), (999, .unknown),
    ] as [(Int, URLErrorCode)])
  func codes(_ code: Int, _ expected: URLErrorCode) {
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
  func certificates(_ verifyResult: Int, _ expected: URLErrorCode) {
    #expect(map(60, verifyResult: verifyResult).reason == .url(expected))
    #expect(map(35, verifyResult: verifyResult).reason == .url(.secureConnectionFailed))
  }

  @Test func aLostConnectionTellsWhen() {
    #expect(map(56, receivedHead: true).message != map(56).message)
  }
}

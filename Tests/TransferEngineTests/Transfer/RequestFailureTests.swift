import ContentCoding
import Curl
import Testing
import TransferModel

@testable import TransferEngine

@Suite struct RequestFailureTests {
  private static func failure(_ change: (inout RequestFailure) -> Void = { _ in }) -> RequestFailure {
    var failure = RequestFailure(url: "http://a.test/", method: "POST")
    change(&failure)
    return failure
  }

  private static func reason(
    _ failure: RequestFailure, _ result: CurlResult, _ report: RequestFailure.Report? = .init()
  ) -> TransferError.Reason { failure.error(result, report).reason }

  /// If Ferry caused a failure, its own error replaces libcurl's.
  @Test func `failure by Ferry has its own error`() {
    let egress = Self.failure { ($0.refusedRule, $0.bodyFault) = ("rule", "short") }
    #expect(egress.error(.couldntConnect, nil).rule == "rule")
    #expect(egress.error(.abortedByCallback, nil).rule == "rule" && egress.error(.recvError, nil).rule == nil)
    let body = Self.failure { ($0.bodyFault, $0.refusesRepeat) = ("short", true) }
    #expect(Self.reason(body, .abortedByCallback) == .url(.requestBodyStreamExhausted))
    let repeated = Self.failure { $0.refusesRepeat = true }
    for result in [CurlResult.abortedByCallback, .sendFailRewind] {
      #expect(Self.reason(repeated, result) == .url(.networkConnectionLost))
    }
    #expect(Self.reason(Self.failure(), .sendFailRewind) == .url(.requestBodyStreamExhausted))
    let large = Self.failure { ($0.isTooLarge, $0.contentFault) = (true, .malformed) }
    #expect(
      large.error(.recvError, nil)
        == TransferError(
          .bodyTooLarge, "the body is larger than allowed", failingURL: "http://a.test/"))
    let coded = Self.failure { ($0.contentFault, $0.hasHead, $0.hasResponse) = (.malformed, true, true) }
    #expect(Self.reason(coded, .recvError) == .url(.cannotDecodeRawData))
    let parts = Self.failure { ($0.isMultipartMalformed, $0.hasHead) = (true, true) }
    #expect(Self.reason(parts, .ok) == .url(.cannotParseResponse))
  }

  @Test func `lack of descriptors is no network failure`() {
    let error = Self.failure().error(.couldntConnect, .init(lacksDescriptor: true))
    #expect(error.reason == .url(.cannotConnectToHost) && error.underlying?.library == "posix")
  }

  /// A proxy's refusal counts until the request is sent to the origin.
  @Test(
    arguments: [
      (.http, 407, false, .userAuthenticationRequired), (.http, 403, false, .cannotConnectToHost),
      (.http, 407, true, .networkConnectionLost), (nil, 407, false, .networkConnectionLost),
      (.http, 200, false, .networkConnectionLost),
    ] as [(ProxyServer.Kind?, Int, Bool, URLErrorCode)])
  func `proxy refusal`(_ kind: ProxyServer.Kind?, _ status: Int, _ isPast: Bool, _ expected: URLErrorCode) {
    let failure = Self.failure {
      ($0.proxy, $0.connectStatus, $0.isPastConnect, $0.hasHead) = (kind, status, isPast, true)
    }
    #expect(Self.reason(failure, .recvError) == .url(expected))
  }

  @Test func `SOCKS proxy requires a login`() {
    for (error, isWanted) in [
      (CurlProxyError.noAuth, true), (.userRejected, true), (.init(rawValue: 1), false),
    ] {
      #expect(RequestFailure.wantsSOCKSLogin(.socks5, .proxy, error) == isWanted)
      #expect(!RequestFailure.wantsSOCKSLogin(.http, .proxy, error))
      #expect(!RequestFailure.wantsSOCKSLogin(.socks5, .recvError, error))
      let failure = Self.failure { $0.proxy = .socks5 }
      let expected = isWanted ? URLErrorCode.userAuthenticationRequired : .cannotConnectToHost
      #expect(Self.reason(failure, .proxy, .init(proxyError: error)) == .url(expected))
    }
  }

  /// These errors apply only before the head is complete.
  @Test(
    arguments: [
      (.ok, 0, .networkConnectionLost), (.badContentEncoding, 0, .cannotParseResponse),
      (.badFunctionArgument, 0, .cannotParseResponse), (.tooLarge, 0, .cannotParseResponse),
      (.recvError, 300 * 1024 + 1, .cannotParseResponse), (.recvError, 300 * 1024, .networkConnectionLost),
    ] as [(CurlResult, Int, URLErrorCode)])
  func `malformed or large head is reported`(_ result: CurlResult, _ size: Int, _ expected: URLErrorCode) {
    #expect(Self.reason(Self.failure(), result, .init(headerSize: size)) == .url(expected))
    guard result != .recvError else { return }
    let later = Self.failure { $0.hasHead = true }.error(result, .init(headerSize: size))
    #expect(later.message != Self.failure().error(result, .init(headerSize: size)).message)
  }
}

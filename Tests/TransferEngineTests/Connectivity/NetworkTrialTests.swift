import Addresses
import Curl
import CLinux
import Glibc
import Testing
import TransferModel

@testable import TransferEngine

@Suite struct NetworkTrialTests {
  private static func failure(_ choices: [InterfaceChoice], _ result: CurlResult = .couldntConnect)
    -> TransferError?
  {
    var trial = NetworkTrial()
    for choice in choices { _ = trial.take(choice) }
    return trial.failure(result, url: "http://a.test/")
  }

  @Test func permissions() {
    var trial = NetworkTrial()
    #expect(trial.take(.any) == .granted && trial.take(.bind("eth0")) == .grantedThrough("eth0"))
    #expect(trial.take(.forbidden(.cellular)) == .refused && trial.take(.unreachable) == .refused)
  }

  /// Of several addresses one that could be tried says why it failed.
  @Test func onlyRefusedSocketsAreTheNetworks() {
    #expect(Self.failure([]) == nil && Self.failure([.any]) == nil)
    #expect(Self.failure([.forbidden(.cellular), .any]) == nil)
    #expect(Self.failure([.unreachable, .bind("eth0")]) == nil)
    #expect(Self.failure([.unreachable], .couldntResolveHost) == nil)
    #expect(Self.failure([.unreachable])?.reason == .url(.notConnectedToInternet))
    #expect(Self.failure([.unreachable])?.networkUnavailableReason == nil)
    #expect(Self.failure([.unreachable, .forbidden(.expensive)])?.networkUnavailableReason == "expensive")
  }

  @Test(
    arguments: [
      (.notConnectedToInternet, 0, true, true), (.cannotConnectToHost, Int(EHOSTUNREACH), true, true),
      (.cannotConnectToHost, Int(ECONNREFUSED), false, false), (.cannotFindHost, 0, true, false),
      (.cannotFindHost, 0, false, true), (.timedOut, 0, false, true), (.timedOut, 0, true, false),
      (.badServerResponse, 0, false, false),
    ] as [(URLErrorCode, Int, Bool, Bool)])
  func connectivity(_ code: URLErrorCode, _ errno: Int, _ hasNetwork: Bool, _ expected: Bool) {
    let error = TransferError(code, "")
    #expect(NetworkTrial.lacksConnectivity(error, errno: errno, hasNetwork: hasNetwork) == expected)
  }
}

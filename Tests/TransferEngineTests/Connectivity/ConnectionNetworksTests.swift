import Addresses
import Curl
import CLinux
import Glibc
import Testing
import TransferModel

@testable import TransferEngine

@Suite struct ConnectionNetworksTests {
  private static func failure(_ choices: [InterfaceChoice], _ result: CurlResult = .couldntConnect)
    -> TransferError?
  {
    var trial = ConnectionNetworks()
    for choice in choices { _ = trial.record(choice) }
    return trial.failure(result, url: "http://a.test/")
  }

  @Test func `choice of an interface becomes a socket permission`() {
    var trial = ConnectionNetworks()
    #expect(trial.record(.any) == .granted && trial.record(.bind("eth0")) == .grantedThrough("eth0"))
    #expect(trial.record(.forbidden(.cellular)) == .refused && trial.record(.unreachable) == .refused)
  }

  /// If one of several addresses was tried, its error counts.
  @Test func `only refused sockets are failures of the network`() {
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
  func `lack of network is found`(_ code: URLErrorCode, _ errno: Int, _ hasNetwork: Bool, _ expected: Bool) {
    let error = TransferError(code, "")
    #expect(ConnectionNetworks.lacksConnectivity(error, errno: errno, hasNetwork: hasNetwork) == expected)
  }
}

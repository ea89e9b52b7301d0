internal import Curl
internal import EngineAPI
internal import TransferModel

extension TransferJob {
  // Not in `EngineAPI`: within this target the compiler copies only the members that are used.
  var configuration: SessionConfiguration {
    get { sharedConfiguration.value }
    set { sharedConfiguration = SharedBox(newValue) }
  }

  /// Whether the delegate may be asked about the connection of a request with a streamed body. URLSession asks for the body only after
  /// these challenges.
  func mayBeChallenged(at url: CurlURL, _ request: TransferRequest) -> Bool {
    guard request.body?.isStream == true, url.scheme == "https", let delegate else { return false }
    return [AuthenticationMethod.serverTrust, .clientCertificate].contains {
      delegate.challengeEvent(for: $0) != nil
    }
  }
}

internal import Curl
internal import CLinux
internal import Glibc
internal import TransferModel

/// By which networks a transfer may go, and what it does where there is none.
extension Transfer {
  /// The classes of interfaces that both the session and the request allow.
  var allowedClasses: InterfaceClasses {
    let access = job.configuration.networkAccess.intersection(request.networkAccess)
    return InterfaceClasses(
      cellular: access.allowsCellularAccess, expensive: access.allowsExpensiveNetworkAccess,
      constrained: access.allowsConstrainedNetworkAccess)
  }

  /// What its traffic is for: the request says so, unless it leaves that to the session.
  var networkServiceType: NetworkServiceType {
    request.networkServiceType ?? job.configuration.networkServiceType
  }

  /// By which interface it may connect to that address.
  func choice(of address: PeerAddress) -> SocketPermission {
    guard let destination = IPAddress(address) else { return .refused }
    switch tools.networks.choice(to: destination, allowing: allowedClasses) {
    case .any:
      hasTriedAddress = true
      return .granted
    case .bind(let interface):
      hasTriedAddress = true
      return .grantedThrough(interface)
    case .forbidden(let reason):
      forbiddenNetwork = reason
      return .refused
    case .unreachable:
      lacksNetwork = true
      return .refused
    }
  }

  /// What a refused socket means, where it was no rule of egress that refused it.
  func networkFailure(_ result: CurlResult) -> TransferError? {
    // Of several addresses one may have been tried: then that is why it failed.
    guard result == .couldntConnect, !hasTriedAddress, forbiddenNetwork != nil || lacksNetwork else {
      return nil
    }
    let reason = forbiddenNetwork
    let message = reason.map { "the only way to the host is \($0.rawValue), which the task may not use" }
    var error = TransferError(
      .notConnectedToInternet, message ?? "no network leads to the host", failingURL: request.url,
      underlying: .init(library: "libcurl", code: result.code))
    error.networkUnavailableReason = reason?.rawValue
    return error
  }

  /// Whether it is the network that fails, and the task would rather wait for it
  /// (URLSessionConfiguration.waitsForConnectivity). What has had a connection does not wait.
  func waitsForConnectivity(_ error: TransferError?, _ result: CurlResult, _ errno: Int) -> Bool {
    guard job.configuration.waitsForConnectivity, let error, !isPastConnect, head == nil else { return false }
    switch error.reason {
    case .url(.notConnectedToInternet): return true
    case .url(.cannotConnectToHost): return errno == Int(EHOSTUNREACH)
    // A name that cannot be looked up is as good as one that does not exist, where there is a network.
    case .url(.cannotFindHost), .url(.timedOut): return !tools.networks.hasNetwork
    default: return false
    }
  }

  /// Makes ready for the same request again; nothing of it was sent.
  func prepareAgain() {
    forgetAnswer()
    (forbiddenNetwork, lacksNetwork, hasTriedAddress) = (nil, false, false)
    beginFetch()
    touch()
  }
}

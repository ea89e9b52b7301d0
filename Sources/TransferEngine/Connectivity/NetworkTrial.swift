internal import Addresses
internal import Curl
internal import CLinux
internal import Glibc
internal import TransferModel

/// By which networks one request was let go, and what it means where there was none. Pure.
struct NetworkTrial {
  /// The class of interfaces that a socket was refused for, or that there is no way at all.
  private var forbidden: InterfaceClass?
  private var lacksNetwork = false
  private var hasTriedAddress = false

  /// What the networks say of an address that libcurl would connect to.
  mutating func take(_ choice: InterfaceChoice) -> SocketPermission {
    switch choice {
    case .any:
      hasTriedAddress = true
      return .granted
    case .bind(let interface):
      hasTriedAddress = true
      return .grantedThrough(interface)
    case .forbidden(let reason):
      forbidden = reason
      return .refused
    case .unreachable:
      lacksNetwork = true
      return .refused
    }
  }

  /// What a refused socket means, where it was no rule of egress that refused it.
  func failure(_ result: CurlResult, url: String) -> TransferError? {
    // Of several addresses one may have been tried: then that is why it failed.
    guard result == .couldntConnect, !hasTriedAddress, forbidden != nil || lacksNetwork else { return nil }
    let message = forbidden.map { "the only way to the host is \($0.rawValue), which the task may not use" }
    var error = TransferError(
      .notConnectedToInternet, message ?? "no network leads to the host", failingURL: url,
      underlying: .init(library: "libcurl", code: result.code))
    error.networkUnavailableReason = forbidden?.rawValue
    return error
  }

  /// Whether it is the network that fails, so that a task may wait for it (URLSessionConfiguration.waitsForConnectivity).
  static func lacksConnectivity(_ error: TransferError, errno: Int, hasNetwork: Bool) -> Bool {
    switch error.reason {
    case .url(.notConnectedToInternet): true
    case .url(.cannotConnectToHost): errno == Int(EHOSTUNREACH)
    // A name that cannot be looked up is as good as one that does not exist, where there is a network.
    case .url(.cannotFindHost), .url(.timedOut): !hasNetwork
    default: false
    }
  }
}

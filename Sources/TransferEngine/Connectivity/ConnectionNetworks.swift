internal import Addresses
internal import Curl
internal import CLinux
internal import Glibc
internal import TransferModel

/// The networks that one request was allowed to use, and the error if there was none. Pure.
struct ConnectionNetworks {
  /// The interface class that the task may not use, for which a socket was refused.
  private var forbidden: InterfaceClass?
  private var lacksNetwork = false
  private var hasTriedAddress = false

  /// Records the choice of an interface for an address that libcurl would connect to.
  mutating func record(_ choice: InterfaceChoice) -> SocketPermission {
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

  /// Returns the error of a socket that was refused for lack of a permitted network; `nil` if another cause applies.
  func failure(_ result: CurlResult, url: String) -> TransferError? {
    // If one of several addresses was tried, the connection failed for another reason.
    guard result == .couldntConnect, !hasTriedAddress, forbidden != nil || lacksNetwork else { return nil }
    let message = forbidden.map {
      "the only network to the host is \($0.rawValue), which the task must not use"
    }
    var error = TransferError(
      .notConnectedToInternet, message ?? "no network leads to the host", failingURL: url,
      underlying: .init(library: "libcurl", code: result.code))
    error.networkUnavailableReason = forbidden?.rawValue
    return error
  }

  /// Returns whether the network has failed, so that a task may wait for it (URLSessionConfiguration.waitsForConnectivity).
  static func lacksConnectivity(_ error: TransferError, errno: Int, hasNetwork: Bool) -> Bool {
    switch error.reason {
    case .url(.notConnectedToInternet): true
    case .url(.cannotConnectToHost): errno == Int(EHOSTUNREACH)
    // With a network, a name whose lookup fails is treated as one that does not exist.
    case .url(.cannotFindHost), .url(.timedOut): !hasNetwork
    default: false
    }
  }
}

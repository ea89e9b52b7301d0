internal import Glibc

/// A Ferry service: its URL and the token that it expects.
public struct FerryServer: Sendable, Hashable {
  /// The URL, such as `http://127.0.0.1:8080`. It may have a path prefix.
  public var url: String
  /// The bearer token; `nil` if the service needs none.
  public var token: String?
  /// A PEM file with the certificate authorities of an https service; `nil` for those of the system.
  public var certificateAuthorities: String?

  /// Creates the address of a service.
  public init(url: String, token: String? = nil, certificateAuthorities: String? = nil) {
    self.url = url
    self.token = token
    self.certificateAuthorities = certificateAuthorities
  }

  /// The service that the environment variables `FERRY_SERVER` and `FERRY_TOKEN` name. Without `FERRY_SERVER`, the service at its
  /// default address, `http://127.0.0.1:8080`.
  public static var environment: FerryServer {
    func variable(_ name: String) -> String? {
      guard let text = getenv(name).map({ String(cString: $0) }), !text.isEmpty else { return nil }
      return text
    }
    return FerryServer(
      url: variable("FERRY_SERVER") ?? "http://127.0.0.1:8080", token: variable("FERRY_TOKEN"))
  }
}

internal import Crypto
internal import HTTPFields
internal import HTTPServer
internal import HTTPTypes
package import TransferModel

/// Authenticates requests by bearer token. If no tokens are configured, only programs on this machine are admitted.
package struct RequestAuthenticator: Sendable {
  private let tokens: [(digest: SHA256Digest, tenant: Tenant)]

  /// - Parameter tokens: if empty, only loopback is served, with Host and Origin checked against DNS rebinding.
  package init(tokens: [BearerToken]) {
    self.tokens = tokens.map { (SHA256.hash(data: Array($0.text.utf8)), $0.tenant) }
  }

  package var hasTokens: Bool { !tokens.isEmpty }

  /// Authenticates a request.
  /// - Returns: the caller's tenant, or `nil` for a public route.
  /// - Throws: the problem, if the caller is not admitted.
  func check(_ request: ServerRequest, isPublic: Bool) throws(Problem) -> Tenant? {
    guard hasTokens else {
      try checkLocal(request)
      return .default
    }
    guard !isPublic else { return nil }
    let parts = (request.head.headerFields[.authorization] ?? "").split(separator: " ", maxSplits: 1)
    guard parts.count == 2, parts[0].lowercasedASCII == "bearer" else {
      throw Problem(.unauthorized, "the Authorization field must be Bearer and a token")
    }
    let digest = SHA256.hash(data: Array(parts[1].utf8))
    // Comparing digests takes the same time for every value, and every token is compared.
    let matches = tokens.filter { $0.digest == digest }
    guard let match = matches.first else {
      throw Problem(.unauthorized, "the token is unknown; send one of the service's tokens")
    }
    return match.tenant
  }

  private func checkLocal(_ request: ServerRequest) throws(Problem) {
    let host = request.head.authority ?? ""
    guard Self.isLocal(host, port: request.localPort) else {
      throw Problem(
        .hostNotAllowed, "Host is '\(host)'; use localhost, 127.0.0.1 or [::1], or configure a token")
    }
    guard let origin = request.head.headerFields[.origin] else { return }
    guard origin.lowercasedASCII == "http://" + host.lowercasedASCII else {
      throw Problem(
        .originNotAllowed, "Origin is '\(origin)', but only pages of http://\(host) may call the service")
    }
  }

  static func isLocal(_ host: String, port: Int) -> Bool {
    ["localhost", "127.0.0.1", "[::1]"].contains { name in
      host.lowercasedASCII == name || host.lowercasedASCII == "\(name):\(port)"
    }
  }
}

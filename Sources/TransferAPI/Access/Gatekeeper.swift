internal import Crypto
internal import HTTPFields
internal import HTTPServer
internal import HTTPTypes
package import TransferModel

/// Who may call: bearers of a token, or, where there is none, programs on this machine only.
package struct Gatekeeper: Sendable {
  private let tokens: [(digest: SHA256Digest, tenant: Tenant)]

  /// - Parameter tokens: empty: loopback only, with Host and Origin checked against DNS rebinding.
  package init(tokens: [BearerToken]) {
    self.tokens = tokens.map { (SHA256.hash(data: Array($0.text.utf8)), $0.tenant) }
  }

  package var hasTokens: Bool { !tokens.isEmpty }

  /// Throws where the caller may not come in; else says for whom it calls; nil where that is nobody's business.
  func check(_ request: ServerRequest, isPublic: Bool) throws(Problem) -> Tenant? {
    guard hasTokens else {
      try checkLocal(request)
      return .default
    }
    guard !isPublic else { return nil }
    let parts = (request.head.headerFields[.authorization] ?? "").split(separator: " ", maxSplits: 1)
    guard parts.count == 2, parts[0].lowercasedASCII == "bearer" else { throw Problem(.unauthorized) }
    let digest = SHA256.hash(data: Array(parts[1].utf8))
    // Digest comparison takes the same time for every value, and every token is compared.
    let matches = tokens.filter { $0.digest == digest }
    guard let match = matches.first else { throw Problem(.unauthorized) }
    return match.tenant
  }

  private func checkLocal(_ request: ServerRequest) throws(Problem) {
    let host = request.head.authority ?? ""
    guard Self.isLocal(host, port: request.localPort) else {
      throw Problem(.hostNotAllowed, "Host is '\(host)'")
    }
    guard let origin = request.head.headerFields[.origin] else { return }
    guard origin.lowercasedASCII == "http://" + host.lowercasedASCII else {
      throw Problem(.originNotAllowed, "Origin is '\(origin)'")
    }
  }

  static func isLocal(_ host: String, port: Int) -> Bool {
    ["localhost", "127.0.0.1", "[::1]"].contains { name in
      host.lowercasedASCII == name || host.lowercasedASCII == "\(name):\(port)"
    }
  }
}

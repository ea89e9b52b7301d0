internal import Crypto
internal import HTTPServer
internal import HTTPTypes

/// Who may call: bearers of a token, or, where there is none, programs on this machine only.
package struct Gatekeeper: Sendable {
  private let digests: [SHA256Digest]

  /// - Parameter tokens: empty: loopback only, with Host and Origin checked against DNS rebinding.
  package init(tokens: [String]) { digests = tokens.map { SHA256.hash(data: Array($0.utf8)) } }

  package var hasTokens: Bool { !digests.isEmpty }

  func check(_ request: ServerRequest, isPublic: Bool) throws(Problem) {
    guard hasTokens else { return try checkLocal(request) }
    guard !isPublic else { return }
    let parts = (request.head.headerFields[.authorization] ?? "").split(separator: " ", maxSplits: 1)
    guard parts.count == 2, parts[0].lowercased() == "bearer" else { throw Problem(.unauthorized) }
    let digest = SHA256.hash(data: Array(parts[1].utf8))
    // Digest comparison takes the same time for every value, and every token is compared.
    let matches = digests.map { $0 == digest }
    guard matches.contains(true) else { throw Problem(.unauthorized) }
  }

  private func checkLocal(_ request: ServerRequest) throws(Problem) {
    let host = request.head.authority ?? ""
    guard Self.isLocal(host, port: request.localPort) else {
      throw Problem(.hostNotAllowed, "Host is '\(host)'")
    }
    guard let origin = request.head.headerFields[.origin] else { return }
    guard origin.lowercased() == "http://" + host.lowercased() else {
      throw Problem(.originNotAllowed, "Origin is '\(origin)'")
    }
  }

  static func isLocal(_ host: String, port: Int) -> Bool {
    ["localhost", "127.0.0.1", "[::1]"].contains { name in
      host.lowercased() == name || host.lowercased() == "\(name):\(port)"
    }
  }
}

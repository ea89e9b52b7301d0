/// A TLS server whose options select the protocol (`openssl s_server`).
package final class OpenSSLServer {
  private let process: ServerProcess
  private var seen = 0

  /// - Parameters:
  ///   - options: Options such as `-tls1_2`, separated by spaces. The authority is `authority.pem`.
  ///   - isByHand: Whether the server sends the text of `write`. If false, it answers each GET with a page about the
  ///     connection
  ///     and closes it.
  package init(
    _ options: String = "", certificate leaf: CertificateKit.Leaf = .good, isByHand: Bool = false
  ) throws {
    process = try ServerProcess(
      "s_server", hasInput: isByHand,
      prepare: { try CertificateKit.shared().write(leaf, to: $0) },
      command: { _, ports in
        let arguments =
          "s_server -accept 127.0.0.1:\(ports[0]) -cert leaf.pem -key key.pem \(isByHand ? "" : "-www ")\(options)"
        return ServerProcess.Command(
          executable: "/usr/bin/openssl", arguments: arguments.split(separator: " ").map(String.init))
      })
  }

  package func url(host: String = "127.0.0.1") -> String { "https://\(host):\(process.ports[0])/" }

  // MARK: By hand

  /// Sends text to the client. A line of one letter is a command. `R` renegotiates and requests a certificate (TLS
  /// 1.2). `c` requests a certificate after the handshake (TLS 1.3).
  package func write(_ text: String) throws { try process.write(text) }

  /// Waits until the server's output since the last such call contains the text.
  package func waitForOutput(_ text: String) -> Bool {
    guard let end = process.wait(for: text, in: "output.log", from: seen) else { return false }
    seen = end
    return true
  }

  /// Returns whether the server's output contains the text now.
  package func outputContains(_ text: String) -> Bool {
    process.lines(of: "output.log").contains { $0.contains(text) }
  }
}

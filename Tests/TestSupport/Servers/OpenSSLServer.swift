/// A TLS server that is told by options what to speak (`openssl s_server`).
package final class OpenSSLServer {
  private let process: ServerProcess
  private var seen = 0

  /// - Parameters:
  ///   - options: such as `-tls1_2`; separated by blanks. The authority is `authority.pem`.
  ///   - isByHand: whether it says what `write` is told. Else it answers each GET with a page about the connection, and
  ///     ends it.
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

  /// What goes to the client; or, where it is one letter and a line's end, a command: `R` renegotiates and asks for a
  /// certificate (TLS 1.2), `c` asks for one after the handshake (TLS 1.3).
  package func write(_ text: String) throws { try process.write(text) }

  /// Waits, at most 5 s, until the server has received or said that since the last such call.
  package func hasSeen(_ text: String) -> Bool {
    guard let end = process.wait(for: text, in: "output.log", from: seen) else { return false }
    seen = end
    return true
  }

  /// Whether it has so far.
  package func hasSaid(_ text: String) -> Bool {
    process.lines(of: "output.log").contains { $0.contains(text) }
  }
}

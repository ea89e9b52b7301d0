/// A TLS server that is told by options what to speak (`openssl s_server`). It answers each GET with a page about the
/// connection, and ends it.
package final class OpenSSLServer {
  private let process: ServerProcess

  /// - Parameter options: such as `-tls1_2`; separated by blanks. The authority is `authority.pem`.
  package init(_ options: String = "", certificate leaf: CertificateKit.Leaf = .good) throws {
    process = try ServerProcess(
      "s_server",
      prepare: { directory in
        let kit = try CertificateKit.shared()
        try ServerFiles.write(kit.leaves[leaf] ?? "", to: directory + "/leaf.pem")
        try ServerFiles.write(kit.key, to: directory + "/key.pem")
        try ServerFiles.write(kit.authority, to: directory + "/authority.pem")
      },
      command: { _, ports in
        let arguments = "s_server -accept 127.0.0.1:\(ports[0]) -cert leaf.pem -key key.pem -www \(options)"
        return ServerProcess.Command(
          executable: "/usr/bin/openssl", arguments: arguments.split(separator: " ").map(String.init))
      })
  }

  package func url(host: String = "127.0.0.1") -> String { "https://\(host):\(process.ports[0])/" }
}

/// A TLS 1.3 server that wants a client certificate, says so in an alert to those who show none, and leaves without reading on.
package final class RefusingTLSOrigin: Sendable {
  private let process: ServerProcess

  package init() throws {
    process = try ServerProcess(
      "refusing-tls",
      prepare: { directory in
        let kit = try CertificateKit.shared()
        try ServerFiles.write(kit.leaves[.good] ?? "", to: directory + "/leaf.pem")
        try ServerFiles.write(kit.key, to: directory + "/key.pem")
        try ServerFiles.write(kit.authority, to: directory + "/authority.pem")
      },
      command: { directory, ports in
        ServerProcess.Command(
          executable: ServerFiles.python,
          arguments: [ServerFiles.path("refusing_tls_origin.py"), "\(ports[0])", directory])
      })
  }

  package func url(_ path: String = "/") -> String { "https://127.0.0.1:\(process.ports[0])\(path)" }
}

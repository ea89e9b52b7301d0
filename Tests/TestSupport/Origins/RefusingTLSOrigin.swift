/// A TLS server that wants a client certificate of the authority, and leaves without reading on where it gets none.
package final class RefusingTLSOrigin: Sendable {
  private let process: ServerProcess

  /// How it leaves.
  package enum Manner: String, CaseIterable, Sendable {
    case withAlert, silently
    /// It resets the connection.
    case rudely
    /// It lets everybody in, reads the request, and leaves without an answer.
    case leavesLater

    package static let allCases = [withAlert, silently, rudely]
  }

  /// - Parameter version: as Python has it, such as `TLSv1_3`.
  package init(version: String, _ manner: Manner = .withAlert) throws {
    process = try ServerProcess(
      "refusing-tls",
      prepare: { try CertificateKit.shared().write(to: $0) },
      command: { directory, ports in
        ServerProcess.Command(
          executable: ServerFiles.python,
          arguments: [
            ServerFiles.path("refusing_tls_origin.py"), "\(ports[0])", directory, version, manner.rawValue,
          ])
      })
  }

  package var port: Int { process.ports[0] }
  package func url(_ path: String = "/") -> String { "https://127.0.0.1:\(port)\(path)" }
}

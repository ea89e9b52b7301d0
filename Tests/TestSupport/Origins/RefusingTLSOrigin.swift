/// A TLS server that requires a client certificate of the authority, and otherwise closes the connection without
/// reading on.
package final class RefusingTLSOrigin: Sendable {
  private let process: ServerProcess

  /// The way in which the server closes the connection.
  package enum Failure: String, CaseIterable, Sendable {
    case withAlert, silently
    /// The server resets the connection.
    case withReset
    /// The server accepts every client, reads the request, and closes the connection without a response.
    case closesAfterRequest

    package static let allCases = [withAlert, silently, withReset]
  }

  /// - Parameter version: The TLS version in Python's spelling, such as `TLSv1_3`.
  package init(version: String, _ manner: Failure = .withAlert) throws {
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

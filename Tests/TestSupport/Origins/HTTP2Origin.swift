/// An origin that speaks HTTP/2 only and performs an action for each request: `Tests/Servers/http2_origin.py` lists
/// the actions.
package final class HTTP2Origin: Sendable {
  private let process: ServerProcess

  /// - Parameter actions: One action for each request. The last repeats.
  package init(_ actions: [String]) throws {
    process = try ServerProcess(
      "http2",
      prepare: { try CertificateKit.shared().write(to: $0) },
      command: { directory, ports in
        ServerProcess.Command(
          executable: ServerFiles.python,
          arguments: [ServerFiles.path("http2_origin.py"), "\(ports[0])", directory] + actions)
      })
  }

  package func url(_ path: String = "/") -> String { "https://127.0.0.1:\(process.ports[0])\(path)" }

  /// A line for each request: its connection, stream and action, and the number of body bytes that were read.
  package var requests: [String] { process.lines(of: "requests.log") }
}

/// An origin that requires NTLM for each connection at `/ntlm/…`, with the user `FERRY\alice`. Other paths are open.
///
/// A name without its domain is denied. Uploads are answered with `{"received": bytes, "sha256": hexadecimal}`.
package final class NTLMOrigin: Sendable {
  package static let domain = "FERRY"
  package static let user = "alice"
  package static let password = "s3cret-ntlm"

  private let process: ServerProcess

  /// - Parameter files: The names and sizes of the static files, which contain `NginxServer.contents(_:)`. Every
  ///   other path
  ///   answers with the name of the user.
  package init(files: [String: Int] = ["hello.txt": 5000]) throws {
    process = try ServerProcess(
      "ntlm",
      prepare: { directory in
        try ServerFiles.write(files, to: directory + "/files")
        try ServerFiles.write("\(Self.domain):\(Self.user):\(Self.password)\n", to: directory + "/users")
      },
      command: { directory, ports in
        ServerProcess.Command(
          executable: ServerFiles.python,
          arguments: [ServerFiles.path("ntlm_origin.py"), "\(ports[0])", directory],
          environment: ["NTLM_USER_FILE": directory + "/users"])
      })
  }

  package func url(_ path: String, host: String = "127.0.0.1") -> String {
    "http://\(host):\(process.ports[0])\(path)"
  }

  /// Returns a line for each request: method, target, status, and Authorization or "-".
  package func log(atLeast count: Int = 0) -> [String] { process.lines(of: "requests.log", atLeast: count) }
}

/// The SOCKS 5 proxy microsocks, open or for the user `proxyuser`.
package final class SOCKSProxy: Sendable {
  package static let user = "proxyuser"
  package static let password = "s3cret-socks"

  private let process: ServerProcess

  package init(authenticates: Bool = false) throws {
    process = try ServerProcess("socks") { _, ports in
      ServerProcess.Command(
        executable: "/usr/bin/microsocks",
        arguments: ["-i", "127.0.0.1", "-p", "\(ports[0])"]
          + (authenticates ? ["-u", Self.user, "-P", Self.password] : []))
    }
  }

  package var port: Int { process.ports[0] }

  /// Returns a line for each connection, with the requested host name: `…: connected to localhost:8080`.
  /// - Parameter count: The number of lines to wait for.
  package func log(atLeast count: Int = 0) -> [String] { process.lines(of: "output.log", atLeast: count) }
}

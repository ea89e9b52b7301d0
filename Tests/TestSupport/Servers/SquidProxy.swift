import Foundation

/// The proxy squid without a cache, for any port, open or for the user `proxyuser`.
package final class SquidProxy: Sendable {
  package enum Authentication: String, CaseIterable, Sendable { case none, basic, digest }
  package static let user = "proxyuser"
  package static let password = "s3cret-proxy"

  private let process: ServerProcess

  package init(_ authentication: Authentication = .none) throws {
    process = try ServerProcess(
      "squid",
      prepare: { directory in
        let users = authentication == .basic ? try OpenSSL.basicEntry(Self.user, Self.password) : ""
        try ServerFiles.write(users, to: directory + "/basic.users")
        try ServerFiles.write("\(Self.user):\(Self.password)\n", to: directory + "/digest.users")
      },
      command: { directory, ports in
        let text = Self.configuration(ports[0], directory, authentication)
        try ServerFiles.write(text, to: directory + "/squid.conf")
        return ServerProcess.Command(
          executable: "/usr/sbin/squid",
          arguments: ["-N", "-n", Self.service(ports[0]), "-f", directory + "/squid.conf"],
          sharedMemory: Self.service(ports[0]) + "-")
      })
  }

  package var port: Int { process.ports[0] }
  package var url: String { "http://127.0.0.1:\(port)" }

  /// Returns a line for each request: method, target, status, and Proxy-Authorization or "-". A tunnel is logged at
  /// its end. A connection without a request is not logged.
  /// - Parameter count: The number of lines to wait for.
  package func log(atLeast count: Int = 0) -> [String] {
    process.lines(of: "requests.log", atLeast: count).map { $0.removingPercentEncoding ?? $0 }
  }

  /// Returns the prefix of squid's shared memory.
  private static func service(_ port: Int) -> String { "ferrytest\(port)" }

  private static func configuration(
    _ port: Int, _ directory: String, _ authentication: Authentication
  ) -> String {
    let helper = authentication == .basic ? "basic_ncsa_auth" : "digest_file_auth"
    let access = """
      auth_param \(authentication) program /usr/lib/squid/\(helper) \(directory)/\(authentication).users
      auth_param \(authentication) children 1 startup=1
      auth_param \(authentication) realm squid realm
      acl users proxy_auth REQUIRED
      http_access allow users
      http_access deny all
      """
    return """
      http_port 127.0.0.1:\(port)
      visible_hostname localhost
      pid_filename none
      cache deny all
      cache_log \(directory)/error.log
      logformat requests %rm %ru %>Hs %{Proxy-Authorization}>h
      acl spoken has request
      access_log stdio:\(directory)/requests.log requests spoken
      strip_query_terms off
      buffered_logs off
      netdb_filename none
      pinger_enable off
      max_filedescriptors 1024
      shutdown_lifetime 0 seconds
      coredump_dir \(directory)
      \(authentication == .none ? "http_access allow all" : access)

      """
  }
}

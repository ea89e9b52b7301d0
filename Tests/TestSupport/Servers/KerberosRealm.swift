import Foundation

/// The Kerberos realm FERRY.TEST: a key distribution centre with the user `alice`, the client `robot`, which has a
/// keytab, and the service `HTTP/localhost`.
package final class KerberosRealm: Sendable {
  package static let name = "FERRY.TEST"
  package static let user = "alice@FERRY.TEST"
  package static let password = "s3cret-kerberos"
  package static let client = "robot@FERRY.TEST"

  private let process: ServerProcess

  package init() throws {
    process = try ServerProcess(
      "kerberos", prepare: Self.write,
      command: { directory, ports in
        try ServerFiles.write(Self.clientProfile(ports[0], directory), to: directory + "/krb5.conf")
        try ServerFiles.write(Self.serverProfile(ports[0], directory), to: directory + "/kdc.conf")
        return ServerProcess.Command(
          executable: "/usr/sbin/krb5kdc", arguments: ["-n", "-r", Self.name],
          environment: Self.environment(of: directory))
      })
  }

  /// The environment of a process with neither a ticket nor a key.
  package var environment: [String: String] {
    Self.environment(of: process.directory).merging(["KRB5CCNAME": cache("none")]) { $1 }
  }

  /// Returns the environment of a process with a ticket of `robot` in its cache.
  package func withTicket() throws -> [String: String] {
    let cache = cache("ticket")
    try Self.run(
      "/usr/bin/kinit", ["-c", cache, "-k", "-t", process.directory + "/robot.keytab", Self.client],
      in: process.directory)
    return environment.merging(["KRB5CCNAME": cache]) { $1 }
  }

  /// Returns the environment of a process that has no ticket and gets one with the keytab of `robot`.
  package func withKeytab() -> [String: String] {
    environment.merging([
      "KRB5CCNAME": cache("keytab-\(UUID().uuidString)"),
      "KRB5_CLIENT_KTNAME": "FILE:\(process.directory)/robot.keytab",
    ]) { $1 }
  }

  /// The keytab of `HTTP/localhost`.
  var serviceKeys: [UInt8] {
    Array(FileManager.default.contents(atPath: process.directory + "/service.keytab") ?? Data())
  }

  /// Returns the centre's log, which contains AS_REQ and TGS_REQ lines.
  package func log() -> [String] { process.lines(of: "error.log") }

  /// Freezes the centre until `goOn()`. A frozen centre accepts connections, but answers no request.
  package func pause() { process.pause() }
  package func resume() { process.resume() }

  private func cache(_ name: String) -> String { "FILE:\(process.directory)/cache-\(name)" }

  private static func environment(of directory: String) -> [String: String] {
    ["KRB5_CONFIG": directory + "/krb5.conf", "KRB5_KDC_PROFILE": directory + "/kdc.conf"]
  }

  /// Writes the database and the keytabs. These commands do not need the port, which is still unknown.
  private static func write(to directory: String) throws {
    try ServerFiles.write(clientProfile(0, directory), to: directory + "/krb5.conf")
    try ServerFiles.write(serverProfile(0, directory), to: directory + "/kdc.conf")
    try run("/usr/sbin/kdb5_util", ["-r", name, "create", "-s", "-P", "master"], in: directory)
    let queries = """
      addprinc -pw \(password) alice
      addprinc -randkey robot
      addprinc -randkey HTTP/localhost
      ktadd -k \(directory)/robot.keytab robot
      ktadd -k \(directory)/service.keytab HTTP/localhost

      """
    try ServerFiles.write(queries, to: directory + "/queries")
    try run("/usr/sbin/kadmin.local", ["-r", name], in: directory, input: directory + "/queries")
  }

  private static func run(
    _ executable: String, _ arguments: [String], in directory: String, input: String? = nil
  ) throws {
    let file = input.flatMap { FileHandle(forReadingAtPath: $0) }
    let result = try ChildProcess.run(
      executable, arguments, environment: ChildProcess.environment(with: environment(of: directory)),
      input: file.map { .file($0) } ?? .nothing)
    guard result.status == 0 else {
      throw Socket.Failure(operation: "\(executable): \(result.output)", errno: result.status)
    }
  }

  /// The name service is not used, so `localhost` is not canonicalised.
  private static func clientProfile(_ port: Int, _ directory: String) -> String {
    """
    [libdefaults]
    default_realm = \(name)
    dns_lookup_realm = false
    dns_lookup_kdc = false
    dns_uri_lookup = false
    dns_canonicalize_hostname = false
    rdns = false
    udp_preference_limit = 1
    default_ccache_name = FILE:\(directory)/cache-default
    default_client_keytab_name = FILE:\(directory)/no.keytab
    [realms]
    \(name) = {
      kdc = 127.0.0.1:\(port)
    }
    [domain_realm]
    localhost = \(name)
    """
  }

  private static func serverProfile(_ port: Int, _ directory: String) -> String {
    """
    [realms]
    \(name) = {
      kdc_listen = ""
      kdc_tcp_listen = 127.0.0.1:\(port)
      key_stash_file = \(directory)/stash
      database_module = here
    }
    [dbmodules]
    here = {
      db_library = db2
      database_name = \(directory)/principal
    }
    [logging]
    kdc = FILE:\(directory)/error.log
    """
  }
}

import Foundation

/// The Apache HTTP server, for authentication: Basic, Digest with expiring nonces, and Negotiate.
///
/// `/open/`, `/basic/`, `/digest/`, `/stale/` and, with a Kerberos realm, `/kerberos/` contain the same files. All
/// of them accept uploads, by PUT or POST and under any name. The user is `alice`.
package final class ApacheServer: Sendable {
  package enum Face: String, CaseIterable, Sendable {
    case plain
    /// TLS with the certificate `good`, and HTTP/2.
    case secure
  }
  package static let user = "alice"
  package static let basicPassword = "s3cret-basic"
  package static let digestPassword = "s3cret-digest"

  private let process: ServerProcess
  private let uploads: String

  /// - Parameters:
  ///   - files: The names and sizes of the static files, which contain `NginxServer.contents(_:)`.
  ///   - nonceLifetime: The lifetime in seconds of the nonces of `/digest/`. The nonces of `/stale/` live for one
  ///     second.
  ///   - realm: The Kerberos realm of `/kerberos/`.
  ///   - hasHTTP2: Whether the TLS port speaks HTTP/2. Apache logs an HTTP/2 request at the next activity of its
  ///     connection,
  ///     which may never come.
  package init(
    files: [String: Int] = ["hello.txt": 5000], nonceLifetime: Int = 300, hasHTTP2: Bool = true,
    kerberos realm: KerberosRealm? = nil
  ) throws {
    process = try ServerProcess(
      "apache", ports: Face.allCases.count, hasIPv6: NginxServer.hasIPv6,
      prepare: { directory in
        try Self.write(files, try CertificateKit.shared(), to: directory)
        if let realm { try ServerFiles.write(realm.serviceKeys, to: directory + "/service.keytab") }
      },
      command: { directory, ports in
        let text = Self.configuration(
          ports, directory, nonceLifetime, hasHTTP2: hasHTTP2, hasKerberos: realm != nil)
        try ServerFiles.write(text, to: directory + "/httpd.conf")
        // The replay cache would leave a file in /var/tmp.
        let environment = (realm?.environment ?? [:]).merging(["KRB5RCACHENAME": "none:"]) { $1 }
        return ServerProcess.Command(
          executable: "/usr/sbin/apache2", arguments: ["-d", directory, "-f", "httpd.conf", "-DFOREGROUND"],
          environment: environment)
      })
    uploads = process.directory + "/uploads"
  }

  /// Returns a URL. The default host matches the realm's service principal.
  package func url(_ face: Face, _ path: String, host: String = "localhost") -> String {
    "\(face == .plain ? "http" : "https")://\(host):\(process.ports[face == .plain ? 0 : 1])\(path)"
  }

  /// Returns the bytes uploaded to `/…/name`, or `nil` until the upload is complete.
  package func uploaded(_ name: String) -> [UInt8]? {
    FileManager.default.contents(atPath: uploads + "/" + name).map(Array.init)
  }

  /// Returns a line for each request: method, target, status, and Authorization or "-".
  /// - Parameter count: The number of lines to wait for.
  package func log(atLeast count: Int = 0) -> [String] {
    process.lines(of: "requests.log", atLeast: count).map { $0.replacing(#"\""#, with: "\"") }
  }

  /// Returns `Proxy-Authorization` or "-" for each request. An origin must never receive that field.
  package func proxyFields(atLeast count: Int = 0) -> [String] {
    process.lines(of: "proxy.log", atLeast: count)
  }

  private static func write(_ files: [String: Int], _ kit: CertificateKit, to directory: String) throws {
    try ServerFiles.write(files, to: directory + "/files")
    let manager = FileManager.default
    try manager.createDirectory(
      atPath: directory + "/uploads", withIntermediateDirectories: true,
      attributes: [.posixPermissions: 0o777])
    // Apache's user may not read this checkout, so the script is copied.
    try manager.copyItem(atPath: ServerFiles.path("receive.sh"), toPath: directory + "/receive.sh")
    try manager.setAttributes([.posixPermissions: 0o755], ofItemAtPath: directory + "/receive.sh")
    try ServerFiles.write(kit.key, to: directory + "/key.pem")
    try ServerFiles.write(kit.leaves[.good] ?? "", to: directory + "/good.pem")
    try ServerFiles.write(try OpenSSL.basicEntry(user, basicPassword), to: directory + "/basic.users")
    try ServerFiles.write(
      try OpenSSL.digestEntry(user, "digest realm", digestPassword), to: directory + "/digest.users")
  }

  private static let modules = [
    "mpm_event", "authn_core", "authn_file", "authz_core", "authz_user", "auth_basic", "auth_digest", "alias",
    "actions", "cgi", "env", "headers", "mime", "ssl", "http2",
  ]

  private static func configuration(
    _ ports: [Int], _ directory: String, _ nonceLifetime: Int, hasHTTP2: Bool, hasKerberos: Bool
  ) -> String {
    let modules = modules + (hasKerberos ? ["auth_gssapi"] : [])
    let addresses = ports.flatMap { ["127.0.0.1:\($0)"] + (NginxServer.hasIPv6 ? ["[::1]:\($0)"] : []) }
    let kerberos = """
      <Location /kerberos/>
        AuthType GSSAPI
        AuthName "kerberos realm"
        GssapiCredStore keytab:\(directory)/service.keytab
        Require valid-user
      </Location>
      """
    func digest(_ location: String, _ lifetime: Int) -> String {
      """
      <Location \(location)>
        AuthType Digest
        AuthName "digest realm"
        AuthUserFile \(directory)/digest.users
        AuthDigestNonceLifetime \(lifetime)
        Require valid-user
      </Location>
      """
    }
    return """
      \(modules.map { "LoadModule \($0)_module /usr/lib/apache2/modules/mod_\($0).so" }.joined(separator: "\n"))
      \(getuid() == 0 ? "User www-data\nGroup www-data" : "")
      ServerName localhost
      DefaultRuntimeDir \(directory)
      PidFile \(directory)/pid
      ErrorLog \(directory)/error.log
      LogFormat "%m %U%q %>s %{Authorization}i" requests
      CustomLog \(directory)/requests.log requests
      CustomLog \(directory)/proxy.log "%{Proxy-Authorization}i"
      \(addresses.map { "Listen \($0)" }.joined(separator: "\n"))
      StartServers 1
      ServerLimit 2
      ThreadsPerChild 32
      MaxRequestWorkers 64
      MinSpareThreads 1
      MaxSpareThreads 64
      KeepAliveTimeout 60
      MaxKeepAliveRequests 0
      TypesConfig /dev/null
      AddType text/plain .txt
      DocumentRoot \(directory)/files
      Header always set Cache-Control no-store
      AliasMatch "^/(open|basic|digest|stale|kerberos)/(.*)" "\(directory)/files/$2"
      ScriptAlias /receive \(directory)/receive.sh
      SetEnv UPLOADS \(directory)/uploads
      Script PUT /receive
      Script POST /receive
      <Location /basic/>
        AuthType Basic
        AuthName "basic realm"
        AuthUserFile \(directory)/basic.users
        Require valid-user
      </Location>
      \(digest("/digest/", nonceLifetime))
      \(digest("/stale/", 1))
      \(hasKerberos ? kerberos : "")
      <VirtualHost *:\(ports[1])>
        SSLEngine on
        SSLCertificateFile \(directory)/good.pem
        SSLCertificateKeyFile \(directory)/key.pem
        Protocols \(hasHTTP2 ? "h2 " : "")http/1.1
      </VirtualHost>
      """
  }
}

import Foundation

/// The nginx web server: TLS with good and bad certificates, HTTP/2, and static files with ETag, Last-Modified and
/// ranges.
///
/// - Text files (`.txt`) are compressed if the client accepts gzip.
/// - `/moved` redirects to `/hello.txt`. `/upgrade` and `/downgrade` also change the scheme.
/// - `/basic/` has the same files for the user `alice`.
/// - `/put/` accepts uploads.
/// - `/cookie` answers with the `Cookie` field and sets the cookie in `X-Set`.
/// - `/who` answers with the result and the subject of the client certificate, such as `SUCCESS CN=client`.
/// - `/who/last` does the same and closes an HTTP/1.1 connection.
/// - `/tls` closes it too, and answers with the version, `r` for a resumed TLS session or `.`, the requested name,
///   and the protocol.
package final class NginxServer {
  /// A port of the server.
  package enum Site: String, CaseIterable, Sendable {
    case plain
    // TLS, each with the certificate of that name.
    case good, expired, notYetValid, wrongHost, selfSigned, unknownRoot
    /// TLS 1.3 only.
    case onlyTLS13
    /// Answers 400 unless the client has a certificate of the authority.
    case asksForCertificate
    /// Requests a client certificate, but does not require it.
    case optionalCertificate
    /// With a certificate of the intermediate authority, whose own certificate follows.
    case intermediate
  }

  package static let user = "alice"
  package static let password = "s3cret-nginx"

  /// The PEM file of the authority that signed the good certificates.
  package var authorityFile: String { process.directory + "/authority.pem" }
  /// Returns the PEM file of a certificate for a client. `keyFile` has the key of all.
  package func certificateFile(_ leaf: CertificateKit.Leaf) -> String { process.directory + "/\(leaf).pem" }
  package var keyFile: String { process.directory + "/key.pem" }
  private let process: ServerProcess

  /// - Parameters:
  ///   - files: The names and sizes of the static files, which contain `contents(_:)`.
  ///   - hasHTTP2: Whether the server speaks HTTP/2 in addition to HTTP/1.1.
  ///   - isCacheable: Whether a cache may store the files. If false, every request reaches the server.
  package init(
    files: [String: Int] = ["hello.txt": 5000], hasHTTP2: Bool = true, isCacheable: Bool = false
  ) throws {
    process = try ServerProcess(
      "nginx", ports: Site.allCases.count, hasIPv6: Self.hasIPv6,
      prepare: { try Self.write(files, try CertificateKit.shared(), to: $0) },
      command: { directory, ports in
        let ports = Dictionary(uniqueKeysWithValues: zip(Site.allCases, ports))
        try ServerFiles.write(Self.configuration(ports, hasHTTP2, isCacheable), to: directory + "/nginx.conf")
        return ServerProcess.Command(
          executable: "/usr/sbin/nginx", arguments: ["-p", directory, "-c", "nginx.conf", "-e", "error.log"])
      })
  }

  /// Whether this machine has the address `::1`. If so, every port also listens there.
  package static let hasIPv6 =
    (try? String(contentsOfFile: "/proc/net/if_inet6", encoding: .utf8))?
    .contains("00000000000000000000000000000001 ") ?? false

  package func url(_ face: Site, _ path: String, host: String = "127.0.0.1") -> String {
    "\(face == .plain ? "http" : "https")://\(host):\(port(face))\(path)"
  }

  package func port(_ face: Site) -> Int {
    zip(Site.allCases, process.ports).first { $0.0 == face }?.1 ?? 0
  }

  /// Returns a line for each request: method, target, status, and Authorization or "-".
  /// - Parameter count: The number of lines to wait for.
  package func log(atLeast count: Int = 0) -> [String] { process.lines(of: "requests.log", atLeast: count) }

  /// Returns the bytes uploaded to `/put/name`, or `nil` until the upload is complete.
  package func uploaded(_ name: String) -> [UInt8]? {
    FileManager.default.contents(atPath: process.directory + "/uploads/" + name).map(Array.init)
  }

  /// Returns the contents of a file of this size.
  package static func contents(_ size: Int) -> [UInt8] {
    (0..<size).map { UInt8(ascii: "a") + UInt8(truncatingIfNeeded: ($0 &* $0 >> 7) % 26) }
  }

  private static func write(_ files: [String: Int], _ kit: CertificateKit, to directory: String) throws {
    try ServerFiles.write(files, to: directory + "/files")
    try ServerFiles.write([:], to: directory + "/uploads")
    try ServerFiles.write(kit.key, to: directory + "/key.pem")
    try ServerFiles.write(kit.authority, to: directory + "/authority.pem")
    for (leaf, text) in kit.leaves { try ServerFiles.write(text, to: directory + "/\(leaf).pem") }
    try ServerFiles.write(try OpenSSL.basicEntry(user, password), to: directory + "/basic.users")
  }

  private static func configuration(
    _ ports: [Site: Int], _ hasHTTP2: Bool, _ isCacheable: Bool
  ) -> String {
    let secure = hasHTTP2 ? " ssl http2" : " ssl"
    let servers = ports.map { face, port in
      """
      server {
        listen 127.0.0.1:\(port)\(face == .plain ? "" : secure);
        \(hasIPv6 ? "listen [::1]:\(port)\(face == .plain ? "" : secure);" : "")
        root files;
        gzip on;
        gzip_types text/plain;
        \(isCacheable ? "" : "add_header Cache-Control no-store always;")
        location = /moved { return 302 /hello.txt; }
        location = /upgrade { return 302 https://127.0.0.1:\(ports[.good] ?? 0)/hello.txt; }
        location = /downgrade { return 302 http://127.0.0.1:\(ports[.plain] ?? 0)/hello.txt; }
        location = /tls {
          keepalive_timeout 0;
          return 200 "$ssl_protocol $ssl_session_reused $ssl_server_name $ssl_alpn_protocol";
        }
        location /cookie {
          add_header Set-Cookie $http_x_set;
          return 200 "$http_cookie";
        }
        location /put/ {
          alias uploads/;
          dav_methods PUT;
          client_max_body_size 0;
        }
        location /basic/ {
          alias files/;
          auth_basic "nginx realm";
          auth_basic_user_file basic.users;
        }
        \(face == .plain ? "" : security(of: face))
      }
      """
    }
    return """
      daemon off;
      master_process off;
      pid pid;
      events { worker_connections 512; }
      http {
        # Values are not escaped. A missing field is logged as "-".
        map $http_authorization $shown_authorization { "" "-"; default $http_authorization; }
        log_format requests escape=none "$request_method $request_uri $status $shown_authorization";
        access_log requests.log requests;
        types { text/plain txt; }
        default_type application/octet-stream;
        client_body_temp_path body;
        proxy_temp_path proxy;
        fastcgi_temp_path fastcgi;
        uwsgi_temp_path uwsgi;
        scgi_temp_path scgi;
        \(servers.joined(separator: "\n"))
      }
      """
  }

  private static func security(of face: Site) -> String {
    let leaf = CertificateKit.Leaf(rawValue: face.rawValue) ?? .good
    let versions = "ssl_protocols \(face == .onlyTLS13 ? "" : "TLSv1.2 ")TLSv1.3;"
    let certificate = "ssl_certificate \(leaf).pem; ssl_certificate_key key.pem; \(versions)"
    let answer = #"return 200 "$ssl_client_verify $ssl_client_s_dn";"#
    let who = "location = /who { \(answer) } location = /who/last { keepalive_timeout 0; \(answer) }"
    let clients = "ssl_client_certificate authority.pem; ssl_verify_depth 2; "
    return switch face {
    case .asksForCertificate:
      certificate + " ssl_verify_client on; " + clients + who
    case .optionalCertificate:
      certificate + " ssl_verify_client optional; " + clients + who
    default: certificate
    }
  }
}

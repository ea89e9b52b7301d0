import Foundation

/// A real web server, on free ports and in a directory of its own: TLS with good and bad certificates, HTTP/2, static
/// files with ETag, Last-Modified and ranges. Text files (`.txt`) are compressed for those who ask for it. `/moved` redirects
/// to `/hello.txt`; `/upgrade` and `/downgrade` do so with another scheme. `/basic/` has the same files, for the user `alice`.
/// Where clients show certificates, `/who` answers with how that went and the subject, such as `SUCCESS CN=client`.
/// `/who/last` does so, too, and ends the connection where that is HTTP/1.1. So does `/tls`, which tells of the connection:
/// version, `r` where an earlier TLS session was resumed (else `.`), the name that was asked for, the protocol that was
/// chosen. `/put/` takes uploads. `/cookie` answers with the Cookie field, and sets what `X-Set` says.
package final class NginxServer {
  /// One port of it.
  package enum Face: String, CaseIterable, Sendable {
    case plain
    // TLS, each with the certificate of that name.
    case good, expired, notYetValid, wrongHost, selfSigned, unknownRoot
    /// TLS 1.3 and nothing older.
    case onlyTLS13
    /// Answers 400 to who shows no certificate of the authority's.
    case asksForCertificate
    /// Takes one, or none.
    case optionalCertificate
    /// With a certificate that an intermediate authority signed, and the certificate of that one.
    case intermediate
  }

  package static let user = "alice"
  package static let password = "s3cret-nginx"

  /// The PEM file of the authority that signed what is good.
  package var authorityFile: String { process.directory + "/authority.pem" }
  /// The PEM file of a certificate, for clients that show one, and the one of the key of them all.
  package func certificateFile(_ leaf: CertificateKit.Leaf) -> String { process.directory + "/\(leaf).pem" }
  package var keyFile: String { process.directory + "/key.pem" }
  private let process: ServerProcess

  /// - Parameters:
  ///   - files: the static files, name and size; their bytes are `contents(_:)`.
  ///   - hasHTTP2: false for a server that speaks HTTP/1.1 alone.
  ///   - isCacheable: whether a cache may keep the files: without that, every request comes here.
  package init(
    files: [String: Int] = ["hello.txt": 5000], hasHTTP2: Bool = true, isCacheable: Bool = false
  ) throws {
    process = try ServerProcess(
      "nginx", ports: Face.allCases.count, hasIPv6: Self.hasIPv6,
      prepare: { try Self.write(files, try CertificateKit.shared(), to: $0) },
      command: { directory, ports in
        let ports = Dictionary(uniqueKeysWithValues: zip(Face.allCases, ports))
        try ServerFiles.write(Self.configuration(ports, hasHTTP2, isCacheable), to: directory + "/nginx.conf")
        return ServerProcess.Command(
          executable: "/usr/sbin/nginx", arguments: ["-p", directory, "-c", "nginx.conf", "-e", "error.log"])
      })
  }

  /// Whether this machine has the address `::1`; every port then listens there, too.
  package static let hasIPv6 =
    (try? String(contentsOfFile: "/proc/net/if_inet6", encoding: .utf8))?
    .contains("00000000000000000000000000000001 ") ?? false

  package func url(_ face: Face, _ path: String, host: String = "127.0.0.1") -> String {
    "\(face == .plain ? "http" : "https")://\(host):\(port(face))\(path)"
  }

  package func port(_ face: Face) -> Int {
    zip(Face.allCases, process.ports).first { $0.0 == face }?.1 ?? 0
  }

  /// A line for each request: method, target, status, and Authorization or "-".
  /// - Parameter count: waits, at most 5 s, until so many have been answered.
  package func log(atLeast count: Int = 0) -> [String] { process.lines(of: "requests.log", atLeast: count) }

  /// What was put as `/put/name`; nil before all of it was there.
  package func uploaded(_ name: String) -> [UInt8]? {
    FileManager.default.contents(atPath: process.directory + "/uploads/" + name).map(Array.init)
  }

  /// What a file of that size holds.
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
    _ ports: [Face: Int], _ hasHTTP2: Bool, _ isCacheable: Bool
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
        # No quotation mark is escaped; what is missing is "-" all the same.
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

  private static func security(of face: Face) -> String {
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

import Foundation

/// A real web server, on free ports and in a directory of its own: TLS with good and bad certificates, HTTP/2, static
/// files with ETag, Last-Modified and ranges. Text files (`.txt`) are compressed for those who ask for it. `/moved` redirects
/// to `/hello.txt`; `/upgrade` and `/downgrade` do so with another scheme.
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
  }

  /// The PEM file of the authority that signed what is good.
  package var authorityFile: String { directory + "/authority.pem" }
  private let directory: String
  private let process: Process
  private let ports: [Face: Int]

  /// - Parameter files: the static files, name and size; their bytes are `contents(_:)`.
  package init(files: [String: Int] = ["hello.txt": 5000]) throws {
    directory = TemporaryDirectory.make("nginx")
    do {
      try Self.write(files, try CertificateKit.shared(), to: directory)
      (process, ports) = try Self.start(in: directory)
    } catch {
      try? FileManager.default.removeItem(atPath: directory)
      throw error
    }
  }

  deinit {
    kill(process.processIdentifier, SIGKILL)
    process.waitUntilExit()
    try? FileManager.default.removeItem(atPath: directory)
  }

  /// Whether this machine has the address `::1`; every port then listens there, too.
  package static let hasIPv6 =
    (try? String(contentsOfFile: "/proc/net/if_inet6", encoding: .utf8))?
    .contains("00000000000000000000000000000001 ") ?? false

  package func url(_ face: Face, _ path: String, host: String = "127.0.0.1") -> String {
    "\(face == .plain ? "http" : "https")://\(host):\(ports[face] ?? 0)\(path)"
  }

  /// What a file of that size holds.
  package static func contents(_ size: Int) -> [UInt8] {
    (0..<size).map { UInt8(ascii: "a") + UInt8(truncatingIfNeeded: ($0 &* $0 >> 7) % 26) }
  }

  private static func write(_ files: [String: Int], _ kit: CertificateKit, to directory: String) throws {
    func write(_ bytes: [UInt8], _ name: String) throws {
      try Data(bytes).write(to: URL(fileURLWithPath: directory + "/" + name))
    }
    try write(Array(kit.key.utf8), "key.pem")
    try write(Array(kit.authority.utf8), "authority.pem")
    for (leaf, text) in kit.leaves { try write(Array(text.utf8), "\(leaf).pem") }
    try FileManager.default.createDirectory(atPath: directory + "/files", withIntermediateDirectories: true)
    for (name, size) in files { try write(contents(size), "files/" + name) }
  }

  /// Ports can only be named, not asked for: where another process was faster, other ports are tried.
  private static func start(in directory: String) throws -> (Process, [Face: Int]) {
    for _ in 0..<10 {
      let ports = try Dictionary(uniqueKeysWithValues: zip(Face.allCases, freePorts(Face.allCases.count)))
      try? FileManager.default.removeItem(atPath: directory + "/pid")
      try configuration(ports, directory).write(
        toFile: directory + "/nginx.conf", atomically: false, encoding: .utf8)
      let process = Process()
      process.executableURL = URL(fileURLWithPath: "/usr/sbin/nginx")
      process.arguments = ["-p", directory, "-c", "nginx.conf", "-e", "error.log"]
      process.standardError = FileHandle.nullDevice
      try process.run()
      // The file of its id is written when it listens on all ports.
      while process.isRunning {
        if FileManager.default.fileExists(atPath: directory + "/pid") { return (process, ports) }
        usleep(2000)
      }
    }
    let log = try? String(contentsOfFile: directory + "/error.log", encoding: .utf8)
    throw Socket.Failure(operation: "nginx did not start: \(log ?? "")", errno: 0)
  }

  /// Below the range out of which the kernel gives ports to everybody else.
  private static func freePorts(_ count: Int) throws -> [Int] {
    let ports = (10_000..<32_000).shuffled().lazy.filter { (try? Socket(connectingTo: $0)) == nil }
    return Array(ports.prefix(count))
  }

  private static func configuration(_ ports: [Face: Int], _ directory: String) -> String {
    let servers = ports.map { face, port in
      """
      server {
        listen 127.0.0.1:\(port)\(face == .plain ? "" : " ssl http2");
        \(hasIPv6 ? "listen [::1]:\(port)\(face == .plain ? "" : " ssl http2");" : "")
        root files;
        gzip on;
        gzip_types text/plain;
        location = /moved { return 302 /hello.txt; }
        location = /upgrade { return 302 https://127.0.0.1:\(ports[.good] ?? 0)/hello.txt; }
        location = /downgrade { return 302 http://127.0.0.1:\(ports[.plain] ?? 0)/hello.txt; }
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
        access_log off;
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
    let certificate = "ssl_certificate \(leaf).pem; ssl_certificate_key key.pem;"
    return switch face {
    case .onlyTLS13: certificate + " ssl_protocols TLSv1.3;"
    case .asksForCertificate:
      certificate + " ssl_verify_client on; ssl_client_certificate authority.pem;"
    default: certificate
    }
  }
}

import Foundation

/// Certificates with every fault that a client has to tell apart, made with the openssl command line and kept in
/// memory. All of them share one key.
package struct CertificateKit: Sendable {
  package enum Leaf: String, CaseIterable, Sendable {
    /// Names localhost, 127.0.0.1 and ::1, valid now, signed by the authority.
    case good
    case expired, notYetValid
    /// Names another host.
    case wrongHost
    case selfSigned
    /// Signed by an authority that nobody was told of.
    case unknownRoot
    /// For a client, signed by the authority.
    case client
  }
  package let key: String
  package let authority: String
  package let leaves: [Leaf: String]

  /// Made once for all tests of a run.
  package static func shared() throws -> CertificateKit { try made.get() }
  private static let made = Result { try CertificateKit() }

  private static let configuration = """
    [ca]
    default_ca = authority
    [authority]
    dir = .
    database = index.txt
    rand_serial = yes
    new_certs_dir = .
    default_md = sha256
    policy = any
    unique_subject = no
    [any]
    commonName = supplied
    [req]
    distinguished_name = name
    prompt = no
    [name]
    CN = Ferry test
    [root]
    basicConstraints = critical, CA:true
    keyUsage = keyCertSign, cRLSign
    subjectKeyIdentifier = hash
    [here]
    subjectAltName = DNS:localhost, IP:127.0.0.1, IP:::1
    [elsewhere]
    subjectAltName = DNS:elsewhere.test
    [client]
    extendedKeyUsage = clientAuth
    """

  private init() throws {
    let directory = TemporaryDirectory.make("certificates")
    defer { try? FileManager.default.removeItem(atPath: directory) }
    func write(_ text: String, to name: String) throws {
      try text.write(toFile: directory + "/" + name, atomically: false, encoding: .utf8)
    }
    func read(_ name: String) throws -> String {
      try String(contentsOfFile: directory + "/" + name, encoding: .utf8)
    }
    func openssl(_ arguments: String) throws { try Self.openssl(arguments, in: directory) }
    try write(Self.configuration, to: "openssl.cnf")
    try write("", to: "index.txt")
    try openssl("ecparam -name prime256v1 -genkey -noout -out key.pem")
    try openssl("req -config openssl.cnf -new -key key.pem -out request.pem")
    for (root, name) in [("authority", "Authority"), ("stranger", "Stranger")] {
      try openssl("ecparam -name prime256v1 -genkey -noout -out \(root).key")
      try openssl(
        "req -config openssl.cnf -x509 -new -key \(root).key -subj /CN=\(name) -extensions root -out \(root).pem"
      )
    }
    func sign(
      _ leaf: Leaf, by root: String = "authority", names: String = "here", from start: String = "20200101",
      to end: String = "20490101"
    ) throws {
      let dates = "-startdate \(start)000000Z -enddate \(end)000000Z"
      try openssl(
        "ca -config openssl.cnf -batch -notext -in request.pem -out \(leaf).pem -cert \(root).pem"
          + " -keyfile \(root).key -extensions \(names) \(dates)")
    }
    try sign(.good)
    try sign(.expired, to: "20210101")
    try sign(.notYetValid, from: "20480101")
    try sign(.wrongHost, names: "elsewhere")
    try sign(.unknownRoot, by: "stranger")
    try sign(.client, names: "client")
    try openssl("req -config openssl.cnf -x509 -new -key key.pem -extensions here -out selfSigned.pem")
    key = try read("key.pem")
    authority = try read("authority.pem")
    leaves = try Dictionary(uniqueKeysWithValues: Leaf.allCases.map { ($0, try read("\($0).pem")) })
  }

  private static func openssl(_ arguments: String, in directory: String) throws {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/openssl")
    process.arguments = arguments.split(separator: " ").map(String.init)
    process.currentDirectoryURL = URL(fileURLWithPath: directory)
    let errors = Pipe()
    process.standardError = errors
    process.standardOutput = FileHandle.nullDevice
    try process.run()
    let text = String(decoding: errors.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    process.waitUntilExit()
    guard process.terminationStatus == 0 else {
      throw Socket.Failure(operation: "openssl \(arguments): \(text)", errno: process.terminationStatus)
    }
  }
}

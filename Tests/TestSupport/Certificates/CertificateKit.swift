import Foundation

/// Certificates with every fault that a client has to distinguish. The openssl command line makes them once; they are
/// kept in memory and share one key.
package struct CertificateKit: Sendable {
  package enum Leaf: String, CaseIterable, Sendable {
    /// For localhost, 127.0.0.1 and ::1, valid now, signed by the authority.
    case good
    case expired, notYetValid
    /// For another host.
    case wrongHost
    case selfSigned
    /// Signed by an authority that no client trusts.
    case unknownRoot
    /// Signed by an intermediate authority, whose certificate follows.
    case intermediate
    /// For a client, signed by the authority.
    case client
    /// For a client, signed by the intermediate authority, whose certificate follows.
    case intermediateClient
    /// For a client, signed by an authority that no server trusts.
    case strangeClient
  }
  /// The private key of all leaves.
  package let key: String
  package let authority: String
  /// The intermediate authority's certificate, signed by `authority`.
  package let intermediateAuthority: String
  package let leaves: [Leaf: String]

  /// Returns the kit of this test run.
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
    CN = server
    [root]
    basicConstraints = critical, CA:true
    keyUsage = keyCertSign, cRLSign
    subjectKeyIdentifier = hash
    [middle]
    basicConstraints = critical, CA:true, pathlen:0
    keyUsage = keyCertSign, cRLSign
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
    func openssl(_ arguments: String) throws { try OpenSSL.run(arguments, in: directory) }
    try write(Self.configuration, to: "openssl.cnf")
    try write("", to: "index.txt")
    func makeKey(_ name: String) throws {
      try openssl("ecparam -name prime256v1 -genkey -noout -out \(name)")
    }
    func request(_ name: String, key: String = "key.pem", subject: String) throws {
      try openssl("req -config openssl.cnf -new -key \(key) -subj /CN=\(subject) -out \(name).csr")
    }
    func sign(
      _ name: String, by issuer: String = "authority", as extensions: String = "here",
      request: String = "server", from start: String = "20200101", to end: String = "20490101"
    ) throws {
      try openssl(
        "ca -config openssl.cnf -batch -notext -in \(request).csr -out \(name).pem -cert \(issuer).pem"
          + " -keyfile \(issuer).key -extensions \(extensions)"
          + " -startdate \(start)000000Z -enddate \(end)000000Z")
    }
    for (root, name) in [("authority", "Authority"), ("stranger", "Stranger")] {
      try makeKey("\(root).key")
      try openssl(
        "req -config openssl.cnf -x509 -new -key \(root).key -subj /CN=\(name) -extensions root -out \(root).pem"
      )
    }
    try makeKey("middle.key")
    try request("middle", key: "middle.key", subject: "Intermediate")
    try sign("middle", as: "middle", request: "middle")
    try makeKey("key.pem")
    try request("server", subject: "server")
    try sign("good")
    try sign("expired", to: "20210101")
    try sign("notYetValid", from: "20480101")
    try sign("wrongHost", as: "elsewhere")
    try sign("unknownRoot", by: "stranger")
    try openssl("req -config openssl.cnf -x509 -new -key key.pem -extensions here -out selfSigned.pem")
    for (client, root) in [("client", "authority"), ("strangeClient", "stranger")] {
      try request(client, subject: client)
      try sign(client, by: root, as: "client", request: client)
    }
    intermediateAuthority = try read("middle.pem")
    try sign("intermediate", by: "middle")
    try request("intermediateClient", subject: "intermediateClient")
    try sign("intermediateClient", by: "middle", as: "client", request: "intermediateClient")
    for name in ["intermediate.pem", "intermediateClient.pem"] {
      try write(try read(name) + intermediateAuthority, to: name)
    }
    key = try read("key.pem")
    authority = try read("authority.pem")
    leaves = try Dictionary(uniqueKeysWithValues: Leaf.allCases.map { ($0, try read("\($0).pem")) })
  }

  /// Writes the files that a TLS server reads: `leaf.pem`, `key.pem` and `authority.pem`.
  func write(_ leaf: Leaf = .good, to directory: String) throws {
    try ServerFiles.write(leaves[leaf] ?? "", to: directory + "/leaf.pem")
    try ServerFiles.write(key, to: directory + "/key.pem")
    try ServerFiles.write(authority, to: directory + "/authority.pem")
  }

  /// Returns the pin of the authority's key (`OpenSSL.keyPin(of:)`).
  package func authorityKeyPins() throws -> [String] { [try OpenSSL.keyPin(of: authority)] }
}

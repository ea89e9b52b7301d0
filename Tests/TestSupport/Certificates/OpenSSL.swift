import Foundation

/// The openssl command line.
package enum OpenSSL {
  /// - Parameter arguments: separated by blanks.
  /// - Returns: what it printed.
  @discardableResult package static func run(
    _ arguments: String, input: [UInt8] = [], in directory: String = "/"
  ) throws -> [UInt8] {
    let standardInput = Pipe()
    // Less than a pipe holds, and before anybody can have closed its other end.
    try standardInput.fileHandleForWriting.write(contentsOf: Data(input))
    try standardInput.fileHandleForWriting.close()
    // It has something to say on its standard error where it fails, and then there is nothing else.
    let result = try ChildProcess.run(
      "/usr/bin/openssl", arguments.split(separator: " ").map(String.init), directory: directory,
      input: .pipe(standardInput))
    guard result.status == 0 else {
      throw Socket.Failure(operation: "openssl \(arguments): \(result.output)", errno: result.status)
    }
    return result.bytes
  }

  /// In hexadecimal digits, as the Digest scheme has it.
  package static func md5(_ text: String) throws -> String {
    let line = String(decoding: try run("dgst -md5 -r", input: Array(text.utf8)), as: UTF8.self)
    return String(line.prefix(32))
  }

  /// A line of a file of passwords for Basic.
  package static func basicEntry(_ user: String, _ password: String) throws -> String {
    let hash = try run("passwd -apr1 -stdin", input: Array(password.utf8))
    return "\(user):\(String(decoding: hash, as: UTF8.self))"
  }

  /// A line of a file of passwords for Digest.
  package static func digestEntry(_ user: String, _ realm: String, _ password: String) throws -> String {
    "\(user):\(realm):\(try md5("\(user):\(realm):\(password)"))\n"
  }

  /// What a pin of a certificate's key is made of: the SHA-256 of its SubjectPublicKeyInfo, in Base64.
  /// - Parameter certificate: PEM; the first one counts.
  package static func keyPin(of certificate: String) throws -> String {
    let key = try run("x509 -noout -pubkey", input: Array(certificate.utf8))
    let digest = try run("dgst -sha256 -binary", input: run("pkey -pubin -outform der", input: key))
    return Data(digest).base64EncodedString()
  }
}

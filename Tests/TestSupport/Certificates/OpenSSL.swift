import Foundation

/// The openssl command line.
package enum OpenSSL {
  /// Runs openssl.
  /// - Parameter arguments: The arguments, separated by spaces.
  /// - Returns: The standard output and error.
  @discardableResult package static func run(
    _ arguments: String, input: [UInt8] = [], in directory: String = "/"
  ) throws -> [UInt8] {
    let standardInput = Pipe()
    // The input fits into the pipe, so writing cannot block, and the read end is still open.
    try standardInput.fileHandleForWriting.write(contentsOf: Data(input))
    try standardInput.fileHandleForWriting.close()
    // openssl writes to standard error only if it fails.
    let result = try ChildProcess.run(
      "/usr/bin/openssl", arguments.split(separator: " ").map(String.init), directory: directory,
      input: .pipe(standardInput))
    guard result.status == 0 else {
      throw Socket.Failure(operation: "openssl \(arguments): \(result.output)", errno: result.status)
    }
    return result.bytes
  }

  /// Returns the digest in hexadecimal digits, as the Digest scheme needs it.
  package static func md5(_ text: String) throws -> String {
    let line = String(decoding: try run("dgst -md5 -r", input: Array(text.utf8)), as: UTF8.self)
    return String(line.prefix(32))
  }

  /// Returns a line of a password file for Basic.
  package static func basicEntry(_ user: String, _ password: String) throws -> String {
    let hash = try run("passwd -apr1 -stdin", input: Array(password.utf8))
    return "\(user):\(String(decoding: hash, as: UTF8.self))"
  }

  /// Returns a line of a password file for Digest.
  package static func digestEntry(_ user: String, _ realm: String, _ password: String) throws -> String {
    "\(user):\(realm):\(try md5("\(user):\(realm):\(password)"))\n"
  }

  /// Returns the pin of a certificate's key: the SHA-256 of its SubjectPublicKeyInfo, in Base64.
  /// - Parameter certificate: PEM. Only the first certificate is used.
  package static func keyPin(of certificate: String) throws -> String {
    let key = try run("x509 -noout -pubkey", input: Array(certificate.utf8))
    let digest = try run("dgst -sha256 -binary", input: run("pkey -pubin -outform der", input: key))
    return Data(digest).base64EncodedString()
  }
}

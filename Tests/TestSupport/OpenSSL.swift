import Foundation

/// The openssl command line.
package enum OpenSSL {
  /// - Parameter arguments: separated by blanks.
  /// - Returns: what it printed.
  @discardableResult package static func run(
    _ arguments: String, input: [UInt8] = [], in directory: String = "/"
  ) throws -> [UInt8] {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/openssl")
    process.arguments = arguments.split(separator: " ").map(String.init)
    process.currentDirectoryURL = URL(fileURLWithPath: directory)
    let (standardInput, output) = (Pipe(), Pipe())
    process.standardInput = standardInput
    process.standardOutput = output
    // It has something to say where it fails, and then there is nothing else.
    process.standardError = output
    // Less than a pipe holds, and before anybody can have closed its other end.
    try standardInput.fileHandleForWriting.write(contentsOf: Data(input))
    try process.run()
    try standardInput.fileHandleForWriting.close()
    let bytes = Array(output.fileHandleForReading.readDataToEndOfFile())
    process.waitUntilExit()
    guard process.terminationStatus == 0 else {
      throw Socket.Failure(
        operation: "openssl \(arguments): \(String(decoding: bytes, as: UTF8.self))",
        errno: process.terminationStatus)
    }
    return bytes
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

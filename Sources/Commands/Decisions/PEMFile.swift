/// The certificates and the private key of a PEM file.
enum PEMFile {
  static func parts(_ path: String) throws(CommandFailure) -> (certificates: String, key: String) {
    let (certificates, key) = split(try InputFile.text(path))
    guard !certificates.isEmpty else { throw CommandFailure(.file, "\(path) has no certificate") }
    guard !key.isEmpty else { throw CommandFailure(.file, "\(path) has no private key") }
    return (certificates, key)
  }

  /// Separates the blocks of a text (RFC 7468 §2).
  static func split(_ text: String) -> (certificates: String, key: String) {
    var (certificates, key) = ("", "")
    var block = ""
    for line in text.split(whereSeparator: \.isNewline) {
      if line.hasPrefix("-----BEGIN ") { block = "" }
      block += line + "\n"
      guard line.hasPrefix("-----END ") else { continue }
      if line.contains("PRIVATE KEY") {
        key += block
      } else if line.contains("CERTIFICATE") {
        certificates += block
      }
      block = ""
    }
    return (certificates, key)
  }
}

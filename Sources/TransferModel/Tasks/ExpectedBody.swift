package import JSON
internal import Limits

/// The body that a client expects. At least one member is set.
package struct ExpectedBody: Sendable, Equatable {
  /// The bytes of the body as Ferry serves it, after content decoding.
  package var size: Int64?
  /// Lower-case hexadecimal.
  package var sha256: String?

  package init(size: Int64? = nil, sha256: String? = nil) {
    self.size = size
    self.sha256 = sha256
  }

  package init(validating reader: inout ObjectReader) {
    size = reader.integer("size", in: 0...Int(Limits.streamBytes.value)).map { Int64($0) }
    if let text = reader.string("sha256") {
      let bytes = Hexadecimal.bytes(text)
      if bytes?.count != 32 {
        reader.reject("sha256", "must be the 64 hexadecimal digits of a SHA-256 digest")
      }
      sha256 = bytes.map { Hexadecimal.text($0) }
    }
    if reader.isMissing("size"), reader.isMissing("sha256") {
      reader.violations.add(reader.pointer, "must have size, sha256 or both")
    }
    reader.finish()
  }
}

extension ExpectedBody: JSONEncodable {
  package func encode(into writer: inout JSONWriter) {
    writer.object { writer in
      if let size { writer.field("size", size) }
      if let sha256 { writer.field("sha256", sha256) }
    }
  }
}

// MARK: Checks

extension ExpectedBody {
  /// Returns the error of a body with another size; `nil` if the size is right.
  package func sizeError(_ actual: Int64, url: String) -> TransferError? {
    guard let size, size != actual else { return nil }
    return Self.mismatch("the body has \(actual) bytes, but expected.size is \(size)", url)
  }

  /// The error of a body that has exceeded the expected size.
  package func excessError(url: String) -> TransferError {
    Self.mismatch("the body has more bytes than expected.size, which is \(size ?? 0)", url)
  }

  /// Returns the error of a body with another digest; `nil` if the digest is right.
  /// - Parameter actual: lower-case hexadecimal.
  package func digestError(_ actual: String, url: String) -> TransferError? {
    guard let sha256, sha256 != actual else { return nil }
    return Self.mismatch("the body has the digest \(actual), but expected.sha256 is \(sha256)", url)
  }

  private static func mismatch(_ fault: String, _ url: String) -> TransferError {
    TransferError(.contentMismatch, "\(fault); correct expected or the source", failingURL: url)
  }
}

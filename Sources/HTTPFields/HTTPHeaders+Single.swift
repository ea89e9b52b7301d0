/// Fields that are not lists. A message may have each of them at most once (RFC 9110 §5.3), but sometimes a CDN and an origin both add
/// the same field.
extension HTTPHeaders {
  /// Returns the value of a field that is not a list; the first one if several differ, as in browsers.
  package func single(_ name: String) -> String? { place(of: name, from: 0).map { fields[$0].value } }

  /// Returns the value of a field that is not a list; `nil` if there are different ones.
  package func unambiguous(_ name: String) -> String? {
    let values = all(name)
    return values.dropFirst().allSatisfy { $0 == values[0] } ? values.first : nil
  }

  /// The target of a redirect: the first value that is not empty, as in browsers.
  package var location: String? { all("Location").first { !$0.isEmpty } }

  /// The media type; of several fields the last valid one.
  package var contentType: String? { MediaType.effective(all("Content-Type")) }

  /// The codings of the content in lower case, in the order of application; empty if the content is not encoded (RFC 9110 §8.4).
  /// `aws-chunked` is only a transfer format of S3 uploads, but S3 returns the word with the object, so it is ignored.
  package var contentCodings: [String] {
    elements(of: "Content-Encoding").map { $0.lowercasedASCII }
      .filter { !["", "identity", "none", "aws-chunked"].contains($0) }
  }

  /// The length in `Content-Length`, in bytes; `nil` if it is absent, malformed or contradictory, or if a transfer coding overrides it
  /// (RFC 9112 §6.3).
  package var contentLength: Int64? {
    guard elements(of: "Transfer-Encoding").allSatisfy({ Self.equal($0, "identity") }) else { return nil }
    let lengths = elements(of: "Content-Length").map { text in
      text.utf8.allSatisfy { (0x30...0x39).contains($0) } ? Int64(text) : nil
    }
    guard let first = lengths.first, lengths.allSatisfy({ $0 == first }) else { return nil }
    return first
  }

  /// Returns the members of a list field in all its lines (RFC 9110 §5.6.1). Commas in quoted strings separate members too.
  package func elements(of name: String) -> [String] {
    all(name).flatMap { value in
      value.utf8.split(separator: UInt8(ascii: ",")).map { Substring($0).trimmingBlanks }
    }
  }
}

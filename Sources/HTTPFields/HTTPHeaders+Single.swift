/// Fields that are not lists. A message may have each of them at most once (RFC 9110 §5.3), but a CDN and an
/// origin sometimes both add one.
extension HTTPHeaders {
  /// The value of a field that is not a list; the first one if several differ, as in browsers.
  package func single(_ name: String) -> String? { place(of: name, from: 0).map { fields[$0].value } }

  /// The value of a field that is not a list; nil if there are different ones.
  package func unambiguous(_ name: String) -> String? {
    let values = all(name)
    return values.dropFirst().allSatisfy { $0 == values[0] } ? values.first : nil
  }

  /// Where a redirect leads: the first value that is not empty, as in browsers.
  package var location: String? { all("Location").first { !$0.isEmpty } }

  /// The media type; of several fields the last valid one.
  package var contentType: String? { MediaType.effective(all("Content-Type")) }

  /// The codings of the content in the order in which they were applied, in lower case; none if it is as it was made (RFC 9110 §8.4).
  /// `aws-chunked` is how S3 gets an upload, and not how it keeps it; yet it returns the word with the object.
  package var contentCodings: [String] {
    elements(of: "Content-Encoding").map { $0.lowercasedASCII }
      .filter { !["", "identity", "none", "aws-chunked"].contains($0) }
  }

  /// The length that `Content-Length` announces, in bytes; nil if it is absent, malformed or contradictory, or if a transfer coding
  /// overrides it (RFC 9112 §6.3).
  package var contentLength: Int64? {
    guard elements(of: "Transfer-Encoding").allSatisfy({ Self.equal($0, "identity") }) else { return nil }
    let lengths = elements(of: "Content-Length").map { text in
      text.utf8.allSatisfy { (0x30...0x39).contains($0) } ? Int64(text) : nil
    }
    guard let first = lengths.first, lengths.allSatisfy({ $0 == first }) else { return nil }
    return first
  }

  /// The members of a list field, wherever it was divided (RFC 9110 §5.6.1). Commas in quoted strings divide it too.
  package func elements(of name: String) -> [String] {
    all(name).flatMap { value in
      value.utf8.split(separator: UInt8(ascii: ",")).map { Substring($0).trimmingBlanks }
    }
  }
}

package import HTTPFields

/// The rule by which the bytes of a 206 are joined to bytes that are kept (RFC 9110 §15.3.7.3, RFC 9111 §3.4).
package enum RangeJoin {
  /// The range that a 206 carries; nil if its bytes must not be joined: they belong to another version, are encoded, or the response does
  /// not name one range of a representation of that length.
  /// - Parameters:
  ///   - validator: of the kept bytes; strong.
  ///   - total: bytes of the representation that they belong to; nil if that is not known.
  ///   - answersIfRange: the request had `validator` in its If-Range.
  package static func range(
    of headers: HTTPHeaders, validator: String, total: Int64?, answersIfRange: Bool
  ) -> ByteRange? {
    guard CachedResponse.isPlain(headers), !isMultipart(headers),
      Validators.agree(headers, with: validator, answersIfRange: answersIfRange),
      let range = ByteRange(contentRange: headers.unambiguous("Content-Range"))
    else { return nil }
    guard let total else { return range }
    return range.total.map { $0 == total } ?? (range.last < total) ? range : nil
  }

  /// Several ranges in an envelope, though it may have the field of one (§15.3.7.2).
  private static func isMultipart(_ headers: HTTPHeaders) -> Bool {
    headers.contentType?.lowercasedASCII.hasPrefix("multipart/byteranges") == true
  }

  /// Whether a 200 in response to a range request is a part nevertheless. Content-Range means nothing in it (§14.4), but some origins send
  /// the range that was requested, and the status of the whole.
  package static func isPart(_ headers: HTTPHeaders) -> Bool {
    guard headers.contains("Content-Range") else { return false }
    guard let range = ByteRange(contentRange: headers.unambiguous("Content-Range")) else { return true }
    return range.first > 0 || range.total.map { range.last + 1 < $0 } == true
  }
}

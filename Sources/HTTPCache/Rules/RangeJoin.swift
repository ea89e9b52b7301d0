package import HTTPFields

/// The rule for joining the bytes of a 206 to stored bytes (RFC 9110 §15.3.7.3, RFC 9111 §3.4).
package enum RangeJoin {
  /// Returns the range of a 206.
  ///
  /// - Parameters:
  ///   - validator: the strong validator of the stored bytes.
  ///   - total: the length of their representation in bytes; `nil` if unknown.
  ///   - answersIfRange: whether the request had `validator` in its If-Range.
  /// - Returns: `nil` if the bytes must not be joined: they belong to another version or are encoded, or the response does not name one
  ///   range of a representation of that length.
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

  /// Whether the body is a multipart envelope of several ranges. Such a response may have a Content-Range too (§15.3.7.2).
  private static func isMultipart(_ headers: HTTPHeaders) -> Bool {
    headers.contentType?.lowercasedASCII.hasPrefix("multipart/byteranges") == true
  }

  /// Whether a 200 in response to a range request carries only a part. Content-Range has no meaning in a 200 (§14.4), but some origins
  /// send the requested range with the wrong status.
  package static func isPart(_ headers: HTTPHeaders) -> Bool {
    guard headers.contains("Content-Range") else { return false }
    guard let range = ByteRange(contentRange: headers.unambiguous("Content-Range")) else { return true }
    return range.first > 0 || range.total.map { range.last + 1 < $0 } == true
  }
}

package import TransferModel

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
    guard CachedResponse.isPlain(headers),
      Validators.agree(headers, with: validator, answersIfRange: answersIfRange),
      let range = ByteRange(contentRange: headers.unambiguous("Content-Range"))
    else { return nil }
    guard let total else { return range }
    return range.total.map { $0 == total } ?? (range.last < total) ? range : nil
  }
}

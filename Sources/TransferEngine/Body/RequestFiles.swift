internal import BlobStore

/// What was opened for a request before it goes out.
struct RequestFiles: Sendable {
  /// Reads the request's body.
  var body: BlobReader?
  /// Why that cannot be had.
  var failure: BlobError?
  /// Of the request's body.
  var digest: String?
  /// The bytes that an earlier download left are this one's now.
  var hasClaim = false
}

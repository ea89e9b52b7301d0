internal import BlobStore

/// The files that a request needs, opened.
struct RequestFiles: Sendable {
  /// Reads the request's body.
  var body: BlobReader?
  /// Why it cannot be read.
  var failure: BlobError?
  /// The body's digest.
  var digest: String?
  /// Whether an earlier download's bytes were taken.
  var hasClaim = false
}

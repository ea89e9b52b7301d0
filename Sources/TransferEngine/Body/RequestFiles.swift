internal import BlobStore

/// The files that a request needs, opened.
struct RequestFiles: Sendable {
  /// Reads the request's body.
  var body: (any BlobReader)?
  /// Why it cannot be read.
  var failure: BlobError?
  /// The body's digest.
  var digest: String?
  /// Whether an earlier download's bytes were taken; nil if none were claimed.
  var claim: Result<Void, BlobError>?

  init() {}

  /// - Parameter body: what came of opening it.
  init(_ body: Result<any BlobReader, BlobError>) {
    switch body {
    case .success(let reader): self.body = reader
    case .failure(let error): failure = error
    }
  }
}

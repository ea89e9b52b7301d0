internal import BlobStore

/// The opened files of a request.
struct RequestFiles: Sendable {
  /// The reader of the request's body.
  var body: (any BlobReader)?
  /// The reason why the body cannot be read.
  var failure: BlobError?
  /// The body's digest.
  var digest: String?
  /// Whether an earlier download's bytes were claimed; `nil` if the request claims none.
  var claim: Result<Void, BlobError>?
  /// The reason why the download cannot become its file.
  var destinationFailure: DestinationFailure?

  init() {}

  /// - Parameter body: The result of opening it.
  init(_ body: Result<any BlobReader, BlobError>) {
    switch body {
    case .success(let reader): self.body = reader
    case .failure(let error): failure = error
    }
  }
}

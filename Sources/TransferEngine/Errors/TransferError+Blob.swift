internal import BlobStore
internal import TransferModel

extension TransferError {
  init(_ failure: DestinationFailure, url: String) {
    self.init(.destinationFailed, failure.message, failingURL: url)
    if failure.code != 0 { underlying = .init(library: "posix", code: Int(failure.code)) }
  }
}

extension BlobError {
  /// The error of the system, for clients; `nil` if the system reported none.
  var underlying: TransferError.Underlying? {
    code == 0 ? nil : .init(library: "posix", code: Int(code))
  }
}

internal import BlobStore
internal import TransferModel

extension BlobError {
  /// The error of the system, for clients; `nil` if the system reported none.
  var underlying: TransferError.Underlying? {
    code == 0 ? nil : .init(library: "posix", code: Int(code))
  }
}

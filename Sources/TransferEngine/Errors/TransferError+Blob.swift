internal import BlobStore
internal import TransferModel

extension BlobError {
  /// As clients are told of it; nil where the system said nothing.
  var underlying: TransferError.Underlying? {
    code == 0 ? nil : .init(library: "posix", code: Int(code))
  }
}

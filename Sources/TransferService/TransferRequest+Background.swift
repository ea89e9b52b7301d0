package import TransferModel

extension TransferRequest {
  /// Why a background session does not take this request's body; nil where it does. Such transfers outlive the client:
  /// what they send must be there without it.
  package func backgroundFault(of kind: TaskKind) -> String? {
    if body?.isStream == true { return "must not be a stream in a background session" }
    guard kind == .upload, let body, body.file == nil else { return nil }
    return "must be a stored file ({\"file\"}) in a background session"
  }
}

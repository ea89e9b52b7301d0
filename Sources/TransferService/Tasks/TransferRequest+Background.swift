package import TransferModel

extension TransferRequest {
  /// - Returns: why a background session refuses this request's body, or `nil` if it accepts the body. Such transfers outlive the
  ///   client, so their bodies must be on disk.
  package func backgroundFault(of kind: TaskKind) -> String? {
    if body?.isStream == true { return "must not be a stream in a background session; use a stored file" }
    guard kind == .upload, let body, body.file == nil else { return nil }
    return "must be a stored file ({\"file\": id}) in a background session"
  }
}

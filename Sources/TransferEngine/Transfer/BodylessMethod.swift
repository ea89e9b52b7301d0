internal import TransferModel

/// As URLSession: requests with some methods have no body.
extension TransferRequest {
  private var hasBodylessMethod: Bool { method == "GET" || method == "HEAD" }

  /// Its method allows no body, and it has one.
  var bodyFault: TransferError? {
    guard hasBodylessMethod, let body, body.length != 0 else { return nil }
    return TransferError(
      .dataLengthExceedsMaximum, "a \(method) request must not have a body", failingURL: url)
  }

  /// The request as it is sent: an empty body that its method does not allow is none.
  var withoutIdleBody: TransferRequest {
    guard hasBodylessMethod, body?.length == 0 else { return self }
    var request = self
    request.body = nil
    return request
  }
}

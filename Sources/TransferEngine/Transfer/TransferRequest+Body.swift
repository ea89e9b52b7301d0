internal import TransferModel

/// Rules for methods without a body, as URLSession has them.
extension TransferRequest {
  private var hasBodylessMethod: Bool { method == "GET" || method == "HEAD" }

  /// The error of a request whose method allows no body but which has one.
  var bodyFault: TransferError? {
    guard hasBodylessMethod, let body, body.length != 0 else { return nil }
    return TransferError(
      .dataLengthExceedsMaximum, "a \(method) request must not have a body", failingURL: url)
  }

  /// The request as it is sent: without an empty body if its method allows none.
  var withoutIdleBody: TransferRequest {
    guard hasBodylessMethod, body?.length == 0 else { return self }
    var request = self
    request.body = nil
    return request
  }
}

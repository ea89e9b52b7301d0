internal import HTTPCache
internal import HTTPFields
internal import TransferModel

/// Apple's conditions for resume data (`URLSessionDownloadTask.cancel(byProducingResumeData:)`).
enum ResumeRules {
  /// Returns the validator for If-Range of a later request for the rest (RFC 9110 §13.1.5); `nil` if the download cannot continue. It can
  /// only if the response to a GET has a strong validator, accepts byte ranges and is not encoded. A 206 to a request without Range does
  /// not count, because its bytes may not be the first of the whole.
  static func validator(of head: ResponseHead, to request: TransferRequest, now: Timestamp) -> String? {
    guard request.method == "GET", request.body == nil, head.status == 200,
      head.headers.elements(of: "Accept-Ranges").contains(where: isBytes),
      CachedResponse.isPlain(head.headers)
    else { return nil }
    return Validators.strong(head.headers, now: now)
  }

  private static func isBytes(_ unit: String) -> Bool { HTTPHeaders.equal(unit, "bytes") }
}

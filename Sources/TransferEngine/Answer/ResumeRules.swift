internal import HTTPCache
internal import HTTPFields
internal import TransferModel

/// Apple's conditions for resume data (`URLSessionDownloadTask.cancel(byProducingResumeData:)`).
enum ResumeRules {
  /// The validator that a later request for the rest would have in If-Range (RFC 9110 §13.1.5); nil if the download cannot continue. A
  /// download continues only if it is a GET of something that has a strong validator, comes in byte ranges and is not encoded. A 206 in
  /// response to a request without Range does not count: it is a part, and no beginning of the whole.
  static func validator(of head: ResponseHead, to request: TransferRequest, now: Timestamp) -> String? {
    guard request.method == "GET", request.body == nil, head.status == 200,
      head.headers.elements(of: "Accept-Ranges").contains(where: isBytes),
      CachedResponse.isPlain(head.headers)
    else { return nil }
    return Validators.strong(head.headers, now: now)
  }

  private static func isBytes(_ unit: String) -> Bool { HTTPHeaders.equal(unit, "bytes") }
}

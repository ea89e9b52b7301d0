internal import Curl
internal import EngineAPI
internal import HTTPCookies
internal import HTTPFields
internal import TransferModel

/// The cookies of requests and responses.
extension CookieStorage {
  /// Returns the `Cookie` field of a request. A field of the request's own replaces it.
  func header(
    for request: TransferRequest, at url: CurlURL, of job: TransferJob, now: @autoclosure () -> Timestamp
  ) -> String? {
    guard request.httpShouldHandleCookies, job.configuration.httpShouldSetCookies else { return nil }
    return header(for: CookieContext(request, at: url, job.configuration), in: job.session, now: now())
  }

  /// Stores the cookies of a response. Redirects and challenges may set cookies too.
  func storeCookies(
    _ head: ResponseHead, to request: TransferRequest, at url: CurlURL, of job: TransferJob,
    now: @autoclosure () -> Timestamp
  ) {
    guard request.httpShouldHandleCookies, job.configuration.httpCookieAcceptPolicy != .never else { return }
    let fields = head.headers.all("Set-Cookie")
    guard !fields.isEmpty else { return }
    store(fields, from: CookieContext(request, at: url, job.configuration), in: job.session, now: now())
  }
}

extension CookieContext {
  fileprivate init(_ request: TransferRequest, at url: CurlURL, _ configuration: SessionConfiguration) {
    let document = request.mainDocumentURL.flatMap { try? CurlURL($0) }
    self.init(
      host: url.tlsHost, path: url.path, isSecure: url.scheme == "https",
      mainDocumentHost: document?.tlsHost, mainDocumentIsSecure: document?.scheme == "https",
      isSafeMethod: ["GET", "HEAD", "OPTIONS", "TRACE"].contains(request.method),
      acceptPolicy: configuration.httpCookieAcceptPolicy)
  }
}

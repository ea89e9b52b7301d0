internal import Curl
internal import HTTPCookies
internal import TransferModel

/// The cookies that a request carries, and those that its answer sets.
extension Transfer {
  /// The `Cookie` field; the request's own, where it has one, stands in its place.
  func cookieHeader() -> String? {
    guard request.httpShouldHandleCookies, job.configuration.httpShouldSetCookies else { return nil }
    return tools.cookies.header(for: cookieContext, in: job.session, now: tools.now())
  }

  /// Every answer of the origin may set some: redirects and those that a challenge answers as well.
  func takeCookies(_ head: ResponseHead) {
    guard request.httpShouldHandleCookies, job.configuration.httpCookieAcceptPolicy != .never else { return }
    let fields = head.headers.all("Set-Cookie")
    guard !fields.isEmpty else { return }
    tools.cookies.store(fields, from: cookieContext, in: job.session, now: tools.now())
  }

  private var cookieContext: CookieContext {
    let document = request.mainDocumentURL.flatMap { try? CurlURL($0) }
    return CookieContext(
      host: url.tlsHost, path: url.path, isSecure: url.scheme == "https",
      mainDocumentHost: document?.tlsHost, mainDocumentIsSecure: document?.scheme == "https",
      isSafeMethod: ["GET", "HEAD", "OPTIONS", "TRACE"].contains(request.method),
      acceptPolicy: job.configuration.httpCookieAcceptPolicy)
  }
}

extension CurlURL {
  /// The path that a request asks for.
  var path: String { String(requestTarget.prefix { $0 != "?" }) }
}

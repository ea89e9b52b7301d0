internal import Curl
internal import EngineAPI
internal import HTTPFields
internal import Limits
internal import TransferModel

/// The rules by which a redirect becomes the next request (RFC 9110 §15.4, and Apple's behaviour as measured).
enum Redirect {
  /// Returns the request that the delegate is shown for a redirect.
  /// - Parameter secretNames: The names of further fields that no other origin may receive.
  static func proposal(
    from request: TransferRequest, at url: CurlURL, head: ResponseHead, count: Int, secretNames: [String]
  ) throws(TransferError) -> TransferRequest {
    guard count <= Limits.redirects.value else {
      throw TransferError(
        .httpTooManyRedirects, "more than \(Limits.redirects.value) redirects", failingURL: request.url)
    }
    let target = try destination(head.headers.location ?? "", at: url)
    var next = request
    next.url = target.text
    next.credential = target.credential ?? (target.origin == url.origin ? request.credential : nil)
    if head.status == 303 || ([301, 302].contains(head.status) && request.method == "POST") {
      next.method = "GET"
      next.body = nil
      next.headers = HTTPHeaders(next.headers.fields.filter { !FieldName.describesContent($0.name) })
    }
    if target.origin != url.origin {
      next.headers.removeSecrets(and: secretNames)
    }
    return next
  }

  private static func destination(_ location: String, at url: CurlURL) throws(TransferError) -> CurlURL {
    let target: CurlURL
    do throws(CurlURL.Fault) {
      target = try url.resolve(location)
    } catch {
      switch error {
      case .unsupportedScheme(let scheme):
        throw TransferError(
          .unsupportedURL, "the redirect leads to the scheme '\(scheme)', which is not supported",
          failingURL: hidingUser(in: location, at: url))
      case .malformed(let reason):
        throw TransferError(
          .badURL, "the redirect leads to a malformed URL: \(reason)",
          failingURL: hidingUser(in: location, at: url))
      }
    }
    return target
  }

  /// Returns the fields for clients: without user and password in Location.
  static func hidingUser(in headers: HTTPHeaders, at url: CurlURL) -> HTTPHeaders {
    let locations = headers.all("Location")
    guard locations.contains(where: { $0.contains("@") }) else { return headers }
    var shown = headers
    shown.remove("Location")
    for location in locations { shown.append("Location", hidingUser(in: location, at: url)) }
    return shown
  }

  private static func hidingUser(in location: String, at url: CurlURL) -> String {
    if let target = try? url.resolve(location) { return target.hasUserInfo ? target.text : location }
    // The text is no URL: removes all text that could be user information.
    guard let at = location.lastIndex(of: "@") else { return location }
    let scheme = location.firstRange(of: "//").map { location[..<$0.upperBound] } ?? ""
    return String(scheme + location[location.index(after: at)...])
  }

  /// Refuses a redirect from https to http unless the session allows it. The delegate may allow it too.
  static func checkSecurity(
    of proposed: TransferRequest, after url: CurlURL, _ configuration: SessionConfiguration
  ) throws(TransferError) {
    guard !configuration.allowsInsecureRedirects, url.scheme == "https", !proposed.url.hasPrefix("https:")
    else { return }
    throw TransferError(
      .appTransportSecurityRequiresSecureConnection,
      "the redirect leads from https to http; allowsInsecureRedirects would permit it",
      failingURL: proposed.url)
  }
}

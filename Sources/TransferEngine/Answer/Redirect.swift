internal import Curl
internal import EngineAPI
internal import HTTPFields
internal import Limits
internal import TransferModel

/// The rules by which a redirect becomes the next request (RFC 9110 §15.4, Apple's measured behaviour).
enum Redirect {
  /// The request that `head` asks for in place of `request`, as the delegate is shown it.
  /// - Parameter secretNames: names of fields that no other origin may see, beside the known ones.
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
          .unsupportedURL, "redirected to the scheme '\(scheme)'",
          failingURL: hidingUser(in: location, at: url))
      case .malformed(let reason):
        throw TransferError(
          .badURL, "redirected to a malformed URL: \(reason)", failingURL: hidingUser(in: location, at: url))
      }
    }
    return target
  }

  /// The fields as clients see them: where a redirect leads, but not as whom.
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
    // What is no URL: without all that could be a user's part.
    guard let at = location.lastIndex(of: "@") else { return location }
    let scheme = location.firstRange(of: "//").map { location[..<$0.upperBound] } ?? ""
    return String(scheme + location[location.index(after: at)...])
  }

  /// https falls to http where the session says so, or its delegate.
  static func checkSecurity(
    of proposed: TransferRequest, after url: CurlURL, _ configuration: SessionConfiguration
  ) throws(TransferError) {
    guard !configuration.allowsInsecureRedirects, url.scheme == "https", !proposed.url.hasPrefix("https:")
    else { return }
    throw TransferError(
      .appTransportSecurityRequiresSecureConnection,
      "redirected from https to http, which allowsInsecureRedirects would allow",
      failingURL: proposed.url)
  }
}

package import TransferModel

/// The properties of a request that cookies depend on.
package struct CookieContext: Sendable, Equatable {
  /// The host: an ASCII name, or an address with or without brackets.
  package var host: String
  /// The path of the request's target, without the query.
  package var path: String
  /// Whether the scheme is https.
  package var isSecure: Bool
  /// The host of the document for which the request is made; `nil` if the request itself loads the main document.
  package var mainDocumentHost: String?
  package var mainDocumentIsSecure: Bool
  /// Whether the method is GET, HEAD, OPTIONS or TRACE (RFC 9110 §9.2.1).
  package var isSafeMethod: Bool
  package var acceptPolicy: CookieAcceptPolicy

  package init(
    host: String, path: String, isSecure: Bool, mainDocumentHost: String? = nil,
    mainDocumentIsSecure: Bool = false, isSafeMethod: Bool = true, acceptPolicy: CookieAcceptPolicy = .always
  ) {
    self.host = host
    self.path = path.utf8.first == UInt8(ascii: "/") ? path : "/"
    self.isSecure = isSecure
    self.mainDocumentHost = mainDocumentHost
    self.mainDocumentIsSecure = mainDocumentIsSecure
    self.isSafeMethod = isSafeMethod
    self.acceptPolicy = acceptPolicy
  }

  var isTopLevelNavigation: Bool { mainDocumentHost == nil }

  /// Whether the request has the same site and scheme as the main document (RFC 6265bis §5.2).
  package var isSameSite: Bool {
    isTopLevelNavigation || mainDocumentIsSecure == isSecure && isFirstParty
  }

  /// Whether the host has the main document's registrable domain, or equals its host.
  private var isFirstParty: Bool {
    guard let mainDocumentHost else { return true }
    guard let host = CookieHost(host), let main = CookieHost(mainDocumentHost) else { return false }
    return host == main || host.registrableDomain.map { $0 == main.registrableDomain } ?? false
  }

  var acceptsCookies: Bool {
    switch acceptPolicy {
    case .always: true
    case .never: false
    case .onlyFromMainDocumentDomain: isFirstParty
    }
  }
}

package import TransferModel

/// A request, as far as cookies care.
package struct CookieContext: Sendable, Equatable {
  /// A name in ASCII or an address, with or without brackets.
  package var host: String
  /// Of the request's target, without the query.
  package var path: String
  /// The scheme is https.
  package var isSecure: Bool
  /// The host of the document that the request is made for. nil: the request is a navigation of its own, and what it asks
  /// for the main document.
  package var mainDocumentHost: String?
  package var mainDocumentIsSecure: Bool
  /// GET, HEAD, OPTIONS or TRACE (RFC 9110 §9.2.1).
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

  /// RFC 6265bis §5.2: the site is the same, and so is the scheme.
  package var isSameSite: Bool {
    isTopLevelNavigation || mainDocumentIsSecure == isSecure && isFirstParty
  }

  /// The registrable domain is the main document's, or the host where there is none.
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

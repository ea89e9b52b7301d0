/// Which cookies a session takes (HTTPCookie.AcceptPolicy).
package enum CookieAcceptPolicy: String, Sendable, CaseIterable {
  case always, never
  /// From hosts of the main document's registrable domain; a request without one is its own.
  case onlyFromMainDocumentDomain
}

/// The cookies that a session accepts (HTTPCookie.AcceptPolicy).
package enum CookieAcceptPolicy: String, Sendable, CaseIterable {
  case always, never
  /// From hosts of the main document's registrable domain. A request without a main document is its own.
  case onlyFromMainDocumentDomain
}

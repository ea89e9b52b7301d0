internal import Curl
internal import EngineAPI
internal import HTTPFields
internal import TransferModel

/// A session's authentication: its stored credentials, and those that servers and proxies have accepted. Used only on its transfer loop.
struct SessionAuthentication {
  let session: EngineSession
  let storage: CredentialStorage
  let sessionType: SessionType
  /// Whether credentials are stored and looked up (URLSessionConfiguration.urlCredentialStorage).
  let usesStorage: Bool

  func credential(for space: ProtectionSpace) -> Credential? {
    usesStorage ? storage.credential(for: space, in: session.id) : nil
  }

  /// Returns the client certificate that is stored for an origin.
  func certificate(at url: CurlURL) -> Credential? {
    var space = url.place
    space.authenticationMethod = .clientCertificate
    return credential(for: space)
  }

  /// Adds the authentication that a server or proxy accepted before, so that the request sends it without a challenge.
  func applyRemembered(
    _ request: TransferRequest, at url: CurlURL, by proxy: ProxyConfiguration.Entry?,
    in authenticator: inout Authenticator
  ) {
    guard !session.authentication.isEmpty || proxy != nil else { return }
    if !request.headers.contains("Authorization"),
      let attempt = session.authentication.attempt(at: url.place, path: url.requestTarget),
      attempt.canSign(request)
    {
      authenticator.adopt(attempt, on: .server)
    }
    guard let proxy else { return }
    if let attempt = session.authentication.attempt(at: proxy.server.place, path: ""),
      url.scheme == "https" || attempt.canSign(request)
    {
      authenticator.adopt(attempt, on: .proxy)
    }
    // A SOCKS proxy sends no challenge that could be answered later, so the credential of its URL is sent at once.
    if proxy.server.kind == .socks5, let credential = proxy.credential {
      authenticator.adopt(.init(space: proxy.server.place, credential: credential), on: .proxy)
    }
  }

  /// Remembers an accepted authentication for later requests.
  /// - Parameter path: The request target; empty for a proxy.
  /// - Returns: The delegate's credential to store; `nil` if there is none.
  func remember(_ attempt: Authenticator.Attempt, path: String) -> Credential? {
    guard attempt.credential?.persistence != Credential.Persistence.none,
      usesStorage || attempt.credential == nil
    else { return nil }
    let stored = storage.credential(for: attempt.space, in: session.id)
    // A credential that was deleted or replaced during the request is not remembered again.
    guard
      attempt.isFromDelegate || attempt.credential == nil || attempt.credential?.isSame(as: stored) == true
    else { return nil }
    session.authentication.remember(attempt, path: path)
    return attempt.isFromDelegate ? attempt.credential : nil
  }

  /// Stores an accepted credential. Returns whether it is new.
  func keep(_ credential: Credential, for space: ProtectionSpace) -> Bool {
    guard credential.persistence != .none, usesStorage,
      storage.credential(for: space, in: session.id) != credential,
      storage.set(credential, for: space, in: session.id, isStored: sessionType.stores(credential)) == nil
    else { return false }
    // The cache must not serve responses to another user's credential.
    session.cache?.removeAll(at: [space])
    return true
  }
}

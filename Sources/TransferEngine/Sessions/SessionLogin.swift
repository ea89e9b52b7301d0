internal import Curl
internal import EngineAPI
internal import HTTPFields
internal import TransferModel

/// What a session knows of who it is, and keeps of what it was let in with. On its worker's loop.
struct SessionLogin {
  let session: WorkerSession
  let storage: CredentialStorage
  let sessionType: SessionType
  /// URLSessionConfiguration.urlCredentialStorage: credentials are stored, and looked for.
  let usesStorage: Bool

  func credential(for space: ProtectionSpace) -> Credential? {
    usesStorage ? storage.credential(for: space, in: session.id) : nil
  }

  /// The client's certificate that is stored for an origin.
  func certificate(at url: CurlURL) -> Credential? {
    var space = url.place
    space.authenticationMethod = .clientCertificate
    return credential(for: space)
  }

  /// Has a request show unasked what the session was let in with before.
  func show(
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
    // A SOCKS proxy asks for nothing that could be answered later: what its URL says is said at once.
    if proxy.server.kind == .socks5, let credential = proxy.credential {
      authenticator.adopt(.init(space: proxy.server.place, credential: credential), on: .proxy)
    }
  }

  /// Remembers what let the session in, for the requests that come.
  /// - Parameter path: that was asked for; empty: a proxy's.
  /// - Returns: a credential that the delegate gave, and that is to be kept.
  func remember(_ attempt: Authenticator.Attempt, path: String) -> Credential? {
    guard attempt.credential?.persistence != Credential.Persistence.none,
      usesStorage || attempt.credential == nil
    else { return nil }
    let stored = storage.credential(for: attempt.space, in: session.id)
    // What was taken away or replaced while the request was under way does not come back.
    guard attempt.isAnswered || attempt.credential == nil || attempt.credential?.isSame(as: stored) == true
    else { return nil }
    session.authentication.remember(attempt, path: path)
    return attempt.isAnswered ? attempt.credential : nil
  }

  /// Keeps a credential that was good. True where it is news.
  func keep(_ credential: Credential, for space: ProtectionSpace) -> Bool {
    guard credential.persistence != .none, usesStorage,
      storage.credential(for: space, in: session.id) != credential,
      storage.set(credential, for: space, in: session.id, isStored: sessionType.stores(credential)) == nil
    else { return false }
    // What somebody else was shown there is not for whoever comes next.
    session.cache?.removeAll(at: [space])
    return true
  }
}

internal import JSON

/// The answer to a decision. A delegate answers by its completion handlers, and a webhook by its reply.
public enum FerryDecisionAnswer: Sendable {
  /// Answers a challenge. The credential counts only with `useCredential`. With `nil`, the task continues without a credential.
  case challenge(FerrySession.AuthChallengeDisposition, FerryCredential? = nil)
  /// Answers a redirect with the request to send. With `nil`, the redirect itself is the result.
  case redirection(FerryRequest?)
  /// Answers a response.
  case response(FerrySession.ResponseDisposition)
  /// Answers a delayed request. The request counts only with `useNewRequest`.
  case delayedRequest(FerrySession.DelayedRequestDisposition, FerryRequest? = nil)
  /// Answers a response that the cache may store. With `nil`, the cache does not store it.
  case caching(CachedFerryResponse?)

  /// Writes the members of the answer.
  func encode(into writer: inout JSONWriter) {
    switch self {
    case .challenge(let disposition, let credential):
      writer.field("disposition", disposition.rawValue)
      guard disposition == .useCredential else { return }
      writer.key("credential")
      if let credential { credential.encode(into: &writer) } else { writer.null() }
    case .redirection(let request):
      writer.key("request")
      if let request { request.encode(into: &writer) } else { writer.null() }
    case .response(let disposition): writer.field("disposition", disposition.rawValue)
    case .delayedRequest(let disposition, let request):
      writer.field("disposition", disposition.rawValue)
      guard disposition == .useNewRequest, let request else { return }
      writer.key("request")
      request.encode(into: &writer)
    case .caching(let stored):
      writer.field("storagePolicy", (stored?.storagePolicy ?? .notAllowed).rawValue)
      guard let fields = stored?.storedHeaderFields else { return }
      writer.objectField("response") { $0.field("headers", strings: fields) }
    }
  }
}

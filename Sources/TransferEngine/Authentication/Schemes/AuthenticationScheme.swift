internal import Curl
internal import TransferModel

/// A scheme by which a client shows who it is (RFC 9110 §11.1). To add one, add its method to `AuthenticationMethod`, and its type to
/// `AuthenticationSchemes.all`.
protocol AuthenticationScheme: Sendable {
  var method: AuthenticationMethod { get }
  /// The scheme's name in challenges, in lower case.
  var name: String { get }
  /// Whether Ferry can answer this challenge, which has the scheme's name.
  func supports(_ challenge: HTTPChallenge) -> Bool
  /// Prepares a request.
  /// - Returns: the value of the field Authorization or Proxy-Authorization; nil: none, or libcurl sends it.
  func authorize(_ request: AuthorizedRequest, with easy: EasyHandle) throws(CurlError) -> String?
  /// Makes the token of one request, on a thread that may wait; nil: the scheme has no tokens.
  var makeToken: (@Sendable (_ host: String, _ login: PasswordLogin?) throws -> [UInt8])? { get }
  /// Several messages on one connection let the client in; libcurl exchanges them.
  var isConnectionBased: Bool { get }
  /// A credential is shown unasked only below the directory of an earlier request (RFC 7617 §2.2), else on the whole host.
  var coversDirectory: Bool { get }
}

extension AuthenticationScheme {
  func supports(_ challenge: HTTPChallenge) -> Bool { true }
  var makeToken: (@Sendable (_ host: String, _ login: PasswordLogin?) throws -> [UInt8])? { nil }
  var isConnectionBased: Bool { false }
  var coversDirectory: Bool { false }
}

typealias PasswordLogin = (user: String, password: String)

/// What a scheme knows of the request that it prepares.
struct AuthorizedRequest {
  let attempt: Authenticator.Attempt
  let isProxy: Bool
  /// The request line's: of the CONNECT for a proxy that tunnels.
  let method: String
  let target: String
  /// The digest of the body, by the challenge's algorithm. Called only if the challenge wants it.
  let bodyDigest: () -> String?

  var login: PasswordLogin? { attempt.credential?.passwordLogin }
}

extension Credential {
  var passwordLogin: PasswordLogin? {
    guard case .password(let user, let password) = kind else { return nil }
    return (user, password)
  }
}

/// The schemes that Ferry knows.
enum AuthenticationSchemes {
  /// The strongest first.
  static let all: [any AuthenticationScheme] = [
    NegotiateScheme(), DigestScheme(), NTLMScheme(), BasicScheme(), SOCKSScheme(),
  ]

  static func scheme(of method: AuthenticationMethod) -> (any AuthenticationScheme)? {
    all.first { $0.method == method }
  }

  /// The scheme of a challenge; nil if Ferry cannot answer it.
  static func scheme(answering challenge: HTTPChallenge) -> (any AuthenticationScheme)? {
    all.first { $0.name == challenge.scheme && $0.supports(challenge) }
  }
}

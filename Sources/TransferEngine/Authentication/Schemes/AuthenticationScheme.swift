internal import Curl
internal import TransferModel

/// An authentication scheme (RFC 9110 §11.1), or the login of a SOCKS proxy. To add one, add its method to `AuthenticationMethod`, and its
/// type to `AuthenticationSchemes.all`.
protocol AuthenticationScheme: Sendable {
  var method: AuthenticationMethod { get }
  /// The scheme's name in challenges, in lower case.
  var name: String { get }
  /// Returns whether Ferry can answer this challenge, which has the scheme's name.
  func supports(_ challenge: HTTPChallenge) -> Bool
  /// Prepares a request.
  /// - Returns: The value of the field Authorization or Proxy-Authorization; `nil` if there is none or libcurl sends it.
  func authorize(_ request: AuthorizedRequest, with easy: EasyHandle) throws(CurlError) -> String?
  /// Creates the token of one request; `nil` if the scheme uses no tokens. It may block: call it off the event loops.
  var makeToken: (@Sendable (_ host: String, _ login: PasswordLogin?) throws -> [UInt8])? { get }
  /// Whether the scheme authenticates a connection rather than a request, by several messages that libcurl exchanges.
  var isConnectionBased: Bool { get }
  /// Whether credentials are sent preemptively only below the directory of an earlier request (RFC 7617 §2.2). If `false`, they are sent
  /// preemptively to the whole host.
  var coversDirectory: Bool { get }
}

extension AuthenticationScheme {
  func supports(_ challenge: HTTPChallenge) -> Bool { true }
  var makeToken: (@Sendable (_ host: String, _ login: PasswordLogin?) throws -> [UInt8])? { nil }
  var isConnectionBased: Bool { false }
  var coversDirectory: Bool { false }
}

typealias PasswordLogin = (user: String, password: String)

/// The request that a scheme authenticates.
struct AuthorizedRequest {
  let attempt: Authenticator.Attempt
  let isProxy: Bool
  /// The method of the request line. For a tunnelling proxy, method and target are CONNECT's.
  let method: String
  let target: String
  /// Returns the body's digest by the challenge's algorithm; `nil` if the challenge does not cover the body, or for CONNECT.
  let bodyDigest: () -> String?

  var login: PasswordLogin? { attempt.credential?.passwordLogin }
}

extension Credential {
  var passwordLogin: PasswordLogin? {
    guard case .password(let user, let password) = kind else { return nil }
    return (user, password)
  }
}

/// The schemes that Ferry supports.
enum AuthenticationSchemes {
  /// The strongest first.
  static let all: [any AuthenticationScheme] = [
    NegotiateScheme(), DigestScheme(), NTLMScheme(), BasicScheme(), SOCKSScheme(),
  ]

  static func scheme(of method: AuthenticationMethod) -> (any AuthenticationScheme)? {
    all.first { $0.method == method }
  }

  /// Returns the scheme of a challenge; `nil` if Ferry cannot answer it.
  static func scheme(answering challenge: HTTPChallenge) -> (any AuthenticationScheme)? {
    all.first { $0.name == challenge.scheme && $0.supports(challenge) }
  }
}

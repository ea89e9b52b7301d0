internal import Crypto
internal import Curl
internal import HTTPFields
internal import TransferModel

/// A server's Digest challenge and the number of its uses (RFC 7616, or RFC 2069 if it has no `qop`).
struct DigestAuthentication: Sendable, Equatable {
  enum Algorithm: String, Sendable, CaseIterable {
    case md5 = "MD5"
    case md5Session = "MD5-sess"
    case sha256 = "SHA-256"
    case sha256Session = "SHA-256-sess"
    case sha512Truncated = "SHA-512-256"
    case sha512TruncatedSession = "SHA-512-256-sess"

    var isSession: Bool { rawValue.hasSuffix("-sess") }

    /// A greater number is the stronger algorithm.
    var strength: Int {
      switch self {
      case .md5, .md5Session: 0
      case .sha256, .sha256Session: 1
      case .sha512Truncated, .sha512TruncatedSession: 2
      }
    }

    func hash(_ text: String) -> String { hash(Array(text.utf8)) }

    /// Returns the digest in lower-case hexadecimal.
    func hash(_ bytes: [UInt8]) -> String {
      var hasher = Hasher(self)
      hasher.update(bytes)
      return hasher.finalize()
    }
  }

  /// An incremental digest.
  enum Hasher {
    case md5(Insecure.MD5)
    case sha256(SHA256)
    case sha512Truncated(SHA512Truncated)

    init(_ algorithm: Algorithm) {
      self =
        switch algorithm {
        case .md5, .md5Session: .md5(Insecure.MD5())
        case .sha256, .sha256Session: .sha256(SHA256())
        case .sha512Truncated, .sha512TruncatedSession: .sha512Truncated(SHA512Truncated())
        }
    }

    mutating func update(_ bytes: [UInt8]) {
      switch self {
      case .md5(var hash):
        hash.update(data: bytes)
        self = .md5(hash)
      case .sha256(var hash):
        hash.update(data: bytes)
        self = .sha256(hash)
      case .sha512Truncated(let hash): hash.update(bytes)
      }
    }

    /// Returns the digest in lower-case hexadecimal. Call this once.
    func finalize() -> String {
      switch self {
      case .md5(let hash): Hexadecimal.text(Array(hash.finalize()))
      case .sha256(let hash): Hexadecimal.text(Array(hash.finalize()))
      case .sha512Truncated(let hash): Hexadecimal.text(Array(hash.finalize()))
      }
    }
  }

  /// The quality of protection (`qop`).
  enum Quality: String, Sendable {
    case request = "auth"
    /// The response covers the request's body too.
    case requestAndBody = "auth-int"
  }

  let realm: String
  let algorithm: Algorithm
  /// `auth` if the server offers it, because it needs no digest of the body, else `auth-int`. `nil` if the challenge has no `qop` (RFC
  /// 2069).
  let quality: Quality?
  private(set) var nonce: String
  private let opaque: String?
  private let hashesUser: Bool
  /// The number of uses of `nonce`.
  private var count: UInt32 = 0

  /// Returns `nil` if the challenge is not Digest, or requires an unknown algorithm or quality.
  init?(_ challenge: HTTPChallenge) {
    guard challenge.scheme == "digest", let nonce = challenge.parameters["nonce"] else { return nil }
    let name = (challenge.parameters["algorithm"] ?? "MD5").lowercasedASCII
    guard let algorithm = Algorithm.allCases.first(where: { $0.rawValue.lowercasedASCII == name }) else {
      return nil
    }
    let qualities = challenge.parameters["qop"]?.split(separator: ",").map {
      $0.trimmingBlanks.lowercasedASCII
    }
    quality = [.request, .requestAndBody].first { qualities?.contains($0.rawValue) == true }
    guard quality != nil || qualities == nil && !algorithm.isSession else { return nil }
    self.algorithm = algorithm
    self.nonce = nonce
    realm = challenge.realm ?? ""
    opaque = challenge.parameters["opaque"]
    hashesUser = challenge.parameters["userhash"]?.lowercasedASCII == "true"
  }

  /// Returns the value of the Authorization field for one request.
  /// - Parameters:
  ///   - target: The target of the request line.
  ///   - bodyDigest: The digest of the request's body by the challenge's algorithm; needed only for `requestAndBody`.
  ///   - clientNonce: A value that was never used before.
  mutating func authorization(
    user: String, password: String, method: String, target: String, bodyDigest: String? = nil,
    clientNonce: String
  ) -> String {
    count += 1
    let number = String(count, radix: 16)
    let nc = String(repeating: "0", count: 8 - number.count) + number
    var secret = algorithm.hash("\(user):\(realm):\(password)")
    if algorithm.isSession { secret = algorithm.hash("\(secret):\(nonce):\(clientNonce)") }
    let covered = quality == .requestAndBody ? ":" + (bodyDigest ?? algorithm.hash("")) : ""
    let subject = algorithm.hash("\(method):\(target)\(covered)")
    let parts = quality.map { ":\(nc):\(clientNonce):\($0.rawValue)" } ?? ""
    let response = algorithm.hash("\(secret):\(nonce)\(parts):\(subject)")
    let name = hashesUser ? algorithm.hash("\(user):\(realm)") : user
    var value = "Digest username=\(Self.quote(name)), realm=\(Self.quote(realm)), nonce=\(Self.quote(nonce))"
    value += ", uri=\(Self.quote(target)), response=\"\(response)\", algorithm=\(algorithm.rawValue)"
    if let quality { value += ", qop=\(quality.rawValue), nc=\(nc), cnonce=\(Self.quote(clientNonce))" }
    if let opaque { value += ", opaque=\(Self.quote(opaque))" }
    if hashesUser { value += ", userhash=true" }
    return value
  }

  /// Applies an `Authentication-Info` or `Proxy-Authentication-Info` field (RFC 7616 §3.5).
  mutating func takeUp(info: String) {
    // The field has parameters without a scheme before them.
    guard let nonce = HTTPChallenge.parse(["digest " + info]).first?.parameters["nextnonce"],
      nonce != self.nonce
    else { return }
    self.nonce = nonce
    count = 0
  }

  /// Returns whether a later challenge is the same one with another nonce.
  func isRenewed(by other: DigestAuthentication) -> Bool {
    other.realm == realm && other.algorithm == algorithm && other.quality == quality && other.nonce != nonce
  }

  private static func quote(_ text: String) -> String {
    "\"" + text.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"") + "\""
  }
}

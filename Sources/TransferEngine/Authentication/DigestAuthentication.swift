internal import Crypto
internal import TransferModel

/// A server's Digest challenge and how often it was answered (RFC 7616; RFC 2069 where there is no qop).
struct DigestAuthentication: Sendable, Equatable {
  enum Algorithm: String, Sendable, CaseIterable {
    case md5 = "MD5"
    case md5Session = "MD5-sess"
    case sha256 = "SHA-256"
    case sha256Session = "SHA-256-sess"

    var isSession: Bool { self == .md5Session || self == .sha256Session }
    var isSHA256: Bool { self == .sha256 || self == .sha256Session }

    /// Lower-case hexadecimal.
    func hash(_ text: String) -> String {
      let bytes = Array(text.utf8)
      return isSHA256
        ? Hexadecimal.text(Array(SHA256.hash(data: bytes)))
        : Hexadecimal.text(Array(Insecure.MD5.hash(data: bytes)))
    }
  }

  let realm: String
  let algorithm: Algorithm
  /// `qop` was offered, with `auth` among what it takes; else the old form is used.
  let hasQuality: Bool
  private(set) var nonce: String
  private let opaque: String?
  private let hashesUser: Bool
  /// How often `nonce` was used.
  private var count: UInt32 = 0

  /// Nil where the challenge is not one, or wants what is not known here.
  init?(_ challenge: HTTPChallenge) {
    guard challenge.scheme == "digest", let nonce = challenge.parameters["nonce"] else { return nil }
    let name = (challenge.parameters["algorithm"] ?? "MD5").lowercased()
    guard let algorithm = Algorithm.allCases.first(where: { $0.rawValue.lowercased() == name }) else {
      return nil
    }
    let qualities = challenge.parameters["qop"]?.split(separator: ",").map { $0.trimmingBlanks.lowercased() }
    guard qualities?.contains("auth") ?? !algorithm.isSession else { return nil }
    self.algorithm = algorithm
    self.nonce = nonce
    hasQuality = qualities != nil
    realm = challenge.realm ?? ""
    opaque = challenge.parameters["opaque"]
    hashesUser = challenge.parameters["userhash"]?.lowercased() == "true"
  }

  /// The value of the Authorization field for one request.
  /// - Parameters:
  ///   - target: the request line's.
  ///   - clientNonce: never used before.
  mutating func authorization(
    user: String, password: String, method: String, target: String, clientNonce: String
  ) -> String {
    count += 1
    let number = String(count, radix: 16)
    let nc = String(repeating: "0", count: 8 - number.count) + number
    var secret = algorithm.hash("\(user):\(realm):\(password)")
    if algorithm.isSession { secret = algorithm.hash("\(secret):\(nonce):\(clientNonce)") }
    let subject = algorithm.hash("\(method):\(target)")
    let response =
      hasQuality
      ? algorithm.hash("\(secret):\(nonce):\(nc):\(clientNonce):auth:\(subject)")
      : algorithm.hash("\(secret):\(nonce):\(subject)")
    let name = hashesUser ? algorithm.hash("\(user):\(realm)") : user
    var value = "Digest username=\(Self.quote(name)), realm=\(Self.quote(realm)), nonce=\(Self.quote(nonce))"
    value += ", uri=\(Self.quote(target)), response=\"\(response)\", algorithm=\(algorithm.rawValue)"
    if hasQuality { value += ", qop=auth, nc=\(nc), cnonce=\(Self.quote(clientNonce))" }
    if let opaque { value += ", opaque=\(Self.quote(opaque))" }
    if hashesUser { value += ", userhash=true" }
    return value
  }

  /// What `Authentication-Info` or `Proxy-Authentication-Info` says of the next request (RFC 7616 §3.5).
  mutating func takeUp(info: String) {
    // Its parameters stand without a scheme before them.
    guard let nonce = HTTPChallenge.parse(["digest " + info]).first?.parameters["nextnonce"],
      nonce != self.nonce
    else { return }
    self.nonce = nonce
    count = 0
  }

  private static func quote(_ text: String) -> String {
    "\"" + text.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"") + "\""
  }
}

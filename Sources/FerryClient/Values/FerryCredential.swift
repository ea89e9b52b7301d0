internal import JSON

/// The answer to a challenge. `URLCredential` in Apple's URLSession.
public final class FerryCredential: Sendable {
  /// How long Ferry keeps the credential.
  public enum Persistence: String, Sendable, CaseIterable {
    /// For the task only.
    case none
    /// Until the session is invalid, in the service's memory.
    case forSession
    /// Until the session is deleted, encrypted on the service's disk.
    case permanent
  }

  private enum Secret: Sendable {
    case password(user: String, String)
    case identity(certificate: String, privateKey: String)
    case trust
    case unimplemented
  }
  private let secret: Secret
  /// How long Ferry keeps the credential.
  public let persistence: Persistence

  private init(_ secret: Secret, _ persistence: Persistence) {
    self.secret = secret
    self.persistence = persistence
  }

  /// Creates a login.
  public convenience init(user: String, password: String, persistence: Persistence) {
    self.init(.password(user: user, password), persistence)
  }

  /// Creates the answer to a server-trust challenge that trusts the server.
  public convenience init(trust: FerryServerTrust) { self.init(.trust, .none) }

  /// Creates the answer to a client-certificate challenge. Both texts are PEM, the key without a passphrase.
  public convenience init(clientCertificate: String, privateKey: String, persistence: Persistence) {
    self.init(.identity(certificate: clientCertificate, privateKey: privateKey), persistence)
  }

  /// The user of a login.
  public var user: String? { if case .password(let user, _) = secret { user } else { nil } }
  /// The password of a login. Ferry never returns it, so it is `nil` for a proposed credential.
  public var password: String? {
    if case .password(_, let password) = secret, !password.isEmpty { password } else { nil }
  }
  /// Whether this object has a password. It is `false` for a proposed credential, because Ferry never returns passwords.
  public var hasPassword: Bool { password != nil }

  /// The mark of a delegate without the method that was called.
  static let unimplemented = FerryCredential(.unimplemented, .none)

  /// The member `credential` of an answer.
  func encode(into writer: inout JSONWriter) {
    writer.object { writer in
      switch secret {
      case .password(let user, let password):
        writer.field("user", user)
        writer.field("password", password)
        writer.field("persistence", persistence.rawValue)
      case .identity(let certificate, let key):
        writer.field("clientCertificate", certificate)
        writer.field("privateKey", key)
        writer.field("persistence", persistence.rawValue)
      case .trust: writer.field("trust", true)
      case .unimplemented: break
      }
    }
  }

  /// Reads a proposed credential, which has a user only.
  convenience init?(_ json: JSONValue?) {
    guard let json, json.isObject else { return nil }
    self.init(user: json["user"]?.string ?? "", password: "", persistence: .none)
  }
}

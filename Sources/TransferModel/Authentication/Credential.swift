package import JSON
internal import Limits

/// What answers a challenge (URLCredential). It never describes its secret, not to a log either.
package struct Credential: Sendable, Equatable {
  /// For how long it is remembered (URLCredential.Persistence).
  package enum Persistence: String, Sendable, CaseIterable {
    /// For the task alone.
    case none
    /// In memory, until the session is invalid or the service stops.
    case forSession
    /// Encrypted, in the store.
    case permanent
  }
  package enum Kind: Sendable, Equatable {
    case password(user: String, password: String)
    /// A certificate, perhaps with those above it, and its key; PEM.
    case certificate(String, privateKey: String)
  }

  package var kind: Kind
  package var persistence: Persistence

  package init(_ kind: Kind, persistence: Persistence) {
    self.kind = kind
    self.persistence = persistence
  }

  package init(user: String, password: String, persistence: Persistence = .none) {
    self.init(.password(user: user, password: password), persistence: persistence)
  }

  package var user: String? {
    if case .password(let user, _) = kind { user } else { nil }
  }
  /// Header lines have it as it is.
  package static func isUser(_ text: String) -> Bool { text.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7F } }
  package static func isPassword(_ text: String) -> Bool {
    !text.utf8.contains { [0, 0x0A, 0x0D].contains($0) }
  }

  /// Who it is and how it is proved; two with another persistence are the same.
  package func isSame(as other: Credential?) -> Bool { kind == other?.kind }
}

extension Credential: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
  package var description: String { "Credential(\(user ?? "certificate"), \(persistence))" }
  package var debugDescription: String { description }
  package var customMirror: Mirror { Mirror(self, children: ["persistence": persistence]) }
}

extension Credential: JSONEncodable {
  /// What clients see: the user's name and no secret.
  package func encode(into writer: inout JSONWriter) {
    writer.object { writer in
      writer.field("user", user)
      if case .certificate(let certificate, _) = kind { writer.field("clientCertificate", certificate) }
      writer.field("persistence", persistence.rawValue)
    }
  }

  /// Reads a credential that is a secret; nil where it is wrong, with what is wrong among the violations.
  package init?(validating reader: inout ObjectReader) {
    defer { reader.finish() }
    reader.allowNull("user")  // that of a certificate, as it is shown
    let persistence: Persistence = reader.choice("persistence") ?? .none
    let user = reader.string("user", upTo: Limits.userBytes.value)
    let password = reader.string("password", upTo: Limits.passwordBytes.value)
    let certificate = reader.certificates("clientCertificate", upTo: Limits.chainCertificates)
    let key = reader.string("privateKey", upTo: Limits.certificateBytes.value)
    // The reader has already recorded values that exceed their limits.
    guard reader.violations.isEmpty else { return nil }
    if let certificate, let key, user == nil, password == nil {
      self.init(.certificate(certificate, privateKey: key), persistence: persistence)
    } else if let user, let password, certificate == nil, key == nil {
      guard Self.isUser(user) else {
        reader.reject("user", "a user has no control characters")
        return nil
      }
      guard Self.isPassword(password) else {
        reader.reject("password", "a password has no zero bytes and no line ends")
        return nil
      }
      self.init(user: user, password: password, persistence: persistence)
    } else {
      let given = certificate != nil || key != nil
      let missing =
        given ? (certificate == nil ? "clientCertificate" : "privateKey") : user == nil ? "user" : "password"
      reader.reject(
        missing, "a credential is a user and a password, or a clientCertificate and its privateKey")
      return nil
    }
  }
}

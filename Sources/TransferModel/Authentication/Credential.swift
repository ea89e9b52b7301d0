package import JSON
internal import Limits

/// A credential for challenges (URLCredential). Its description contains no secret, so logs contain none either.
package struct Credential: Sendable, Equatable {
  /// The lifetime of a credential (URLCredential.Persistence).
  package enum Persistence: String, Sendable, CaseIterable {
    /// For the task alone.
    case none
    /// In memory, until the session is invalid or the service stops.
    case forSession
    /// Encrypted in the ledger.
    case permanent
  }
  package enum Kind: Sendable, Equatable {
    case password(user: String, password: String)
    /// A certificate, optionally followed by its issuers, and its private key. PEM.
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
  /// Returns whether a user name may be written unchanged into a header field.
  package static func isUser(_ text: String) -> Bool { text.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7F } }
  package static func isPassword(_ text: String) -> Bool {
    !text.utf8.contains { [0, 0x0A, 0x0D].contains($0) }
  }

  /// Returns whether both identify the same user or certificate with the same secret, whatever their persistence.
  package func isSame(as other: Credential?) -> Bool { kind == other?.kind }
}

extension Credential: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
  package var description: String { "Credential(\(user ?? "certificate"), \(persistence))" }
  package var debugDescription: String { description }
  package var customMirror: Mirror { Mirror(self, children: ["persistence": persistence]) }
}

extension Credential: JSONEncodable {
  /// Writes the credential as clients see it: the user name, and no secret.
  package func encode(into writer: inout JSONWriter) {
    writer.object { writer in
      writer.field("user", user)
      if case .certificate(let certificate, _) = kind { writer.field("clientCertificate", certificate) }
      writer.field("persistence", persistence.rawValue)
    }
  }

  /// Reads a credential with its secret. Returns `nil` if it is invalid, and records the violations.
  package init?(validating reader: inout ObjectReader) {
    defer { reader.finish() }
    reader.allowNull("user")  // replies write null for a certificate
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
        reader.reject("user", "must not contain control characters")
        return nil
      }
      guard Self.isPassword(password) else {
        reader.reject("password", "must not contain zero bytes or line ends")
        return nil
      }
      self.init(user: user, password: password, persistence: persistence)
    } else {
      let given = certificate != nil || key != nil
      let missing =
        given ? (certificate == nil ? "clientCertificate" : "privateKey") : user == nil ? "user" : "password"
      reader.reject(
        missing, "a credential has either user and password, or clientCertificate and privateKey")
      return nil
    }
  }
}

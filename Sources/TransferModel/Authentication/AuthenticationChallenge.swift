package import JSON

/// A server's request for authentication, or the client's check of a server's certificate chain (URLAuthenticationChallenge).
package struct AuthenticationChallenge: Sendable, Equatable {
  package var protectionSpace: ProtectionSpace
  /// The credential that Ferry would use by default. If `previousFailureCount` is 0, it is untried; otherwise it was refused.
  package var proposedCredential: Credential?
  /// The failures of the task so far, with any authentication method.
  package var previousFailureCount = 0
  /// The response with status 401 or 407.
  package var failureResponse: TransferResponse?
  /// Present if the method is ServerTrust.
  package var serverTrust: ServerTrust?
  /// Present if the method is ClientCertificate: the certificate authorities that the server accepts. Empty if it accepts any.
  package var distinguishedNames: [String]?

  package init(_ protectionSpace: ProtectionSpace) { self.protectionSpace = protectionSpace }
}

/// A server's certificate chain, and the result of the default evaluation (SecTrust).
package struct ServerTrust: Sendable, Equatable {
  package struct Certificate: Sendable, Equatable {
    package var pem: String
    package var subject: String
    package var issuer: String
    package var notBefore: Timestamp
    package var notAfter: Timestamp
    /// SHA-256 of the certificate, lower-case hexadecimal.
    package var sha256: String
    /// SHA-256 of its key (SubjectPublicKeyInfo) in base64. Pins use this digest.
    package var publicKeySHA256: String

    package init(
      pem: String, subject: String, issuer: String, notBefore: Timestamp, notAfter: Timestamp,
      sha256: String, publicKeySHA256: String
    ) {
      self.pem = pem
      self.subject = subject
      self.issuer = issuer
      self.notBefore = notBefore
      self.notAfter = notAfter
      self.sha256 = sha256
      self.publicKeySHA256 = publicKeySHA256
    }
  }

  /// The chain, starting with the server's own certificate.
  package var certificates: [Certificate]
  /// `nil` if the chain is trusted.
  package var error: URLErrorCode?
  /// The result of the evaluation as text.
  package var message: String

  package init(certificates: [Certificate], error: URLErrorCode?, message: String) {
    self.certificates = certificates
    self.error = error
    self.message = message
  }
}

extension AuthenticationChallenge {
  /// Writes the members of the challenge in an event.
  package func encodeMembers(into writer: inout JSONWriter) {
    writer.objectField("protectionSpace") { writer in
      protectionSpace.encodeMembers(into: &writer)
      if let serverTrust { writer.field("serverTrust", Optional(serverTrust)) }
      if let distinguishedNames {
        writer.arrayField("distinguishedNames", distinguishedNames) { $0.value($1) }
      }
    }
    writer.key("proposedCredential")
    if let proposedCredential {
      writer.object { $0.field("user", proposedCredential.user) }
    } else {
      writer.null()
    }
    writer.field("previousFailureCount", previousFailureCount)
    writer.field("failureResponse", failureResponse)
  }
}

extension ServerTrust: JSONEncodable {
  package func encode(into writer: inout JSONWriter) {
    writer.object { writer in
      writer.arrayField("certificates", certificates) { $1.encode(into: &$0) }
      writer.objectField("evaluation") { writer in
        writer.field("isTrusted", error == nil)
        writer.field("code", error.map { "\($0)" })
        writer.field("message", message)
      }
    }
  }
}

extension ServerTrust.Certificate: JSONEncodable {
  package func encode(into writer: inout JSONWriter) {
    writer.object { writer in
      writer.field("subject", subject)
      writer.field("issuer", issuer)
      writer.field("notBefore", notBefore)
      writer.field("notAfter", notAfter)
      writer.field("sha256", sha256)
      writer.field("publicKeySHA256", publicKeySHA256)
      writer.field("pem", pem)
    }
  }
}

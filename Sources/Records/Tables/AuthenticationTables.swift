internal import JSON
package import TransferModel

extension ProtectionSpace: Record {
  package static func members(_ coder: inout RecordCoder, _ value: Self?) throws(RecordFault) -> Self {
    ProtectionSpace(
      host: try coder.required("host", value?.host), port: try coder.required("port", value?.port),
      protocolName: try coder.required("protocol", value?.protocolName),
      realm: try coder.optional("realm", value?.realm),
      authenticationMethod: try coder.required("authenticationMethod", value?.authenticationMethod),
      isProxy: try coder.member("isProxy", value?.isProxy, else: false))
  }
}

extension Credential: Record {
  package static func members(_ coder: inout RecordCoder, _ value: Self?) throws(RecordFault) -> Self {
    let persistence = try coder.required("persistence", value?.persistence)
    let (password, certificate) = (value?.kind.password, value?.kind.certificate)
    if let user = try coder.optional("user", password?.user) {
      return Credential(
        user: user, password: try coder.required("password", password?.password), persistence: persistence)
    }
    return Credential(
      .certificate(
        try coder.required("clientCertificate", certificate?.chain),
        privateKey: try coder.required("privateKey", certificate?.key)), persistence: persistence)
  }
}

extension Credential.Kind {
  fileprivate var password: (user: String, password: String)? {
    if case .password(let user, let password) = self { (user, password) } else { nil }
  }
  fileprivate var certificate: (chain: String, key: String)? {
    if case .certificate(let chain, let key) = self { (chain, key) } else { nil }
  }
}

/// A permanent credential with its session and protection space. All are sealed together, so that a changed row cannot send a secret to
/// another host.
package struct StoredCredential: Sendable, Equatable {
  package let session: SessionID
  package let space: ProtectionSpace
  package let credential: Credential

  package init(session: SessionID, space: ProtectionSpace, credential: Credential) {
    self.session = session
    self.space = space
    self.credential = credential
  }

  /// Returns the credential if it belongs to the session.
  /// - Parameter session: the session of the row.
  package func checked(is session: SessionID) throws(RecordFault) -> StoredCredential {
    guard self.session == session else { throw RecordFault(pointer: "/session", "is not that of the row") }
    return self
  }

  /// Returns the key of a protection space within its session, for a ledger's table.
  package static func key(_ space: ProtectionSpace) -> String { String(decoding: space.json, as: UTF8.self) }
}

extension StoredCredential: Record {
  package static func members(_ coder: inout RecordCoder, _ value: Self?) throws(RecordFault) -> Self {
    StoredCredential(
      session: try coder.required("session", value?.session),
      space: try coder.required("space", value?.space),
      credential: try coder.required("credential", value?.credential))
  }
}

extension AuthenticationChallenge: Record {
  package static func members(_ coder: inout RecordCoder, _ value: Self?) throws(RecordFault) -> Self {
    var challenge = AuthenticationChallenge(try coder.required("protectionSpace", value?.protectionSpace))
    challenge.proposedCredential = try coder.optional("proposedCredential", value?.proposedCredential)
    challenge.previousFailureCount = try coder.member(
      "previousFailureCount", value?.previousFailureCount, else: 0)
    challenge.failureResponse = try coder.optional("failureResponse", value?.failureResponse)
    challenge.serverTrust = try coder.optional("serverTrust", value?.serverTrust)
    challenge.distinguishedNames = try coder.optional("distinguishedNames", value?.distinguishedNames)
    return challenge
  }
}

extension ServerTrust: Record {
  package static func members(_ coder: inout RecordCoder, _ value: Self?) throws(RecordFault) -> Self {
    ServerTrust(
      certificates: try coder.required("certificates", value?.certificates),
      error: try coder.optional("error", value?.error),
      message: try coder.member("message", value?.message, else: ""))
  }
}

extension ServerTrust.Certificate: Record {
  package static func members(_ coder: inout RecordCoder, _ value: Self?) throws(RecordFault) -> Self {
    Self(
      pem: try coder.required("pem", value?.pem), subject: try coder.required("subject", value?.subject),
      issuer: try coder.required("issuer", value?.issuer),
      notBefore: try coder.required("notBefore", value?.notBefore),
      notAfter: try coder.required("notAfter", value?.notAfter),
      sha256: try coder.required("sha256", value?.sha256),
      publicKeySHA256: try coder.required("publicKeySHA256", value?.publicKeySHA256))
  }
}

extension ChallengeAnswer: RecordCases {
  package static let cases: [RecordCase<Self>] = [
    RecordCase("useCredential", Self.useCredential) {
      if case .useCredential(let credential) = $0 { credential } else { nil }
    },
    RecordCase("useNoCredential", .useNoCredential) { if case .useNoCredential = $0 { true } else { false } },
    RecordCase("trust", .trust) { if case .trust = $0 { true } else { false } },
    RecordCase("performDefaultHandling", .performDefaultHandling) {
      if case .performDefaultHandling = $0 { true } else { false }
    },
    RecordCase("rejectProtectionSpace", .rejectProtectionSpace) {
      if case .rejectProtectionSpace = $0 { true } else { false }
    },
  ]
}

internal import EngineAPI
internal import JSON
internal import TransferCore
internal import TransferModel

/// URLSession.AuthChallengeDisposition.
private enum AuthChallengeDisposition: String, CaseIterable {
  case useCredential, performDefaultHandling, cancelAuthenticationChallenge, rejectProtectionSpace
}

extension DecisionAnswer {
  /// Reads the answer to a challenge.
  init?(challenge reader: inout ObjectReader, _ method: AuthenticationMethod) {
    reader.allowNull("credential")
    let credential = reader.object("credential")
    guard let disposition: AuthChallengeDisposition = reader.requiredChoice("disposition") else { return nil }
    if disposition != .useCredential, credential != nil {
      reader.reject("credential", "must be left out unless disposition is useCredential")
      return nil
    }
    switch disposition {
    case .cancelAuthenticationChallenge: self = .challenge(.cancel)
    case .performDefaultHandling: self = .challenge(.answer(.performDefaultHandling))
    case .rejectProtectionSpace: self = .challenge(.answer(.rejectProtectionSpace))
    case .useCredential:
      guard var credential else {
        self = .challenge(.answer(.useNoCredential))
        return
      }
      guard let answer = Self.credential(&credential, method) else { return nil }
      self = .challenge(.answer(answer))
    }
  }

  private static func credential(
    _ reader: inout ObjectReader, _ method: AuthenticationMethod
  ) -> ChallengeAnswer? {
    guard method != .serverTrust else {
      guard reader.bool("trust") == true else {
        reader.reject("trust", "must be true; use another disposition if you do not trust the server")
        return nil
      }
      reader.finish()
      return .trust
    }
    guard let credential = Credential(validating: &reader) else { return nil }
    guard credential.fits(method, &reader) else { return nil }
    return .useCredential(credential)
  }
}

extension Credential {
  /// Whether the credential can answer a challenge of this method. If not, adds the reason to the violations.
  func fits(_ method: AuthenticationMethod, _ reader: inout ObjectReader) -> Bool {
    switch (kind, method.usesPassword) {
    case (.password, true): return true
    case (.password, false):
      reader.reject("clientCertificate", "is required: \(method.rawValue) takes a certificate")
    case (.certificate, true): reader.reject("user", "is required: \(method.rawValue) takes a password")
    case (.certificate(let certificate, let key), false):
      guard let fault = TrustConfigurationCheck.fault(ofCertificate: certificate, key: key) else {
        return true
      }
      reader.reject(fault.hasPrefix("key") ? "privateKey" : "clientCertificate", fault)
    }
    return false
  }
}

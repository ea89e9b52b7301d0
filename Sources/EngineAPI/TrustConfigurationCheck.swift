package import Curl
internal import Limits
package import TransferModel

/// Checks of certificates and keys before a session uses them.
package enum TrustConfigurationCheck {
  /// Returns the reason why certificates in PEM cannot be a session's certificate authorities; `nil` if they can.
  package static func fault(ofRoots pem: String) -> SessionConfiguration.CertificateAuthorityError? {
    do throws(CertificateAuthoritySet.Fault) {
      let most = try CertificateAuthoritySet(pem: pem).largestSubjectCount
      return most > Limits.rootsOfOneSubject.value ? .tooManyWithOneSubject(most) : nil
    } catch {
      return .unusable(error.message)
    }
  }

  /// Returns the reason why a client certificate cannot be used; `nil` if it can. The text begins with `certificate` or `key`.
  package static func fault(ofCertificate pem: String, key: String) -> String? {
    do throws(TLSIdentity.Fault) {
      _ = try TLSIdentity(certificate: pem, key: key)
      return nil
    } catch {
      return error.message
    }
  }

  /// Returns the certificate authorities of a file.
  /// - Parameter file: The file; `nil` for the system's. If the system's cannot be read, the set is empty.
  package static func roots(file: String?) throws(TransferError) -> CertificateAuthoritySet {
    do throws(CertificateAuthoritySet.Fault) {
      return try CertificateAuthoritySet(file: file ?? CertificateAuthoritySet.systemFile)
    } catch {
      guard file == nil else { throw TransferError(.cannotOpenFile, error.message) }
      return CertificateAuthoritySet()
    }
  }

  /// Reads the certificate authorities again. Unlike `roots`, throws if the system's cannot be read, so that the caller keeps the
  /// previous set.
  package static func reloadRoots(file: String?) throws(TransferError) -> CertificateAuthoritySet {
    do throws(CertificateAuthoritySet.Fault) {
      return try CertificateAuthoritySet(file: file ?? CertificateAuthoritySet.systemFile)
    } catch {
      throw TransferError(.cannotOpenFile, error.message)
    }
  }
}

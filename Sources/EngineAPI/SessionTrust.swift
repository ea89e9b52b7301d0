package import Curl
internal import Limits
package import TransferModel

/// What TLS is judged by, checked before anything depends on it.
package enum SessionTrust {
  /// Why these cannot be a session's authorities; nil where they can. PEM.
  package static func fault(ofRoots pem: String) -> SessionConfiguration.RootsFault? {
    do throws(TLSRoots.Fault) {
      let most = try TLSRoots(pem: pem).largestSubjectCount
      return most > Limits.rootsOfOneSubject.value ? .tooManyWithOneSubject(most) : nil
    } catch {
      return .unusable(error.message)
    }
  }

  /// Why this cannot be shown to a server; nil where it can. Begins with `certificate` or `key`.
  package static func fault(ofCertificate pem: String, key: String) -> String? {
    do throws(TLSIdentity.Fault) {
      _ = try TLSIdentity(certificate: pem, key: key)
      return nil
    } catch {
      return error.message
    }
  }

  /// - Parameter file: nil: the system's, where it has one.
  package static func roots(file: String?) throws(TransferError) -> TLSRoots {
    do throws(TLSRoots.Fault) {
      return try TLSRoots(file: file ?? TLSRoots.systemFile)
    } catch {
      guard file == nil else { throw TransferError(.cannotOpenFile, error.message) }
      return TLSRoots()
    }
  }

  /// The same once more; what was there before is better than none.
  package static func rootsAgain(file: String?) throws(TransferError) -> TLSRoots {
    do throws(TLSRoots.Fault) {
      return try TLSRoots(file: file ?? TLSRoots.systemFile)
    } catch {
      throw TransferError(.cannotOpenFile, error.message)
    }
  }
}

internal import Curl
internal import TransferModel

/// What TLS is judged by, checked before anything depends on it.
package enum SessionTrust {
  /// Why these cannot be a session's authorities; nil where they can. PEM.
  package static func fault(ofRoots pem: String) -> String? {
    do throws(TLSRoots.Fault) {
      _ = try TLSRoots(file: nil, pem: pem)
      return nil
    } catch {
      return error.message
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
  static func roots(file: String?) throws(TransferError) -> TLSRoots {
    do throws(TLSRoots.Fault) {
      return try TLSRoots(file: file ?? TLSRoots.systemFile, pem: nil)
    } catch {
      guard file == nil, let none = try? TLSRoots(file: nil, pem: nil) else {
        throw TransferError(.cannotOpenFile, error.message)
      }
      return none
    }
  }

  /// The same once more; what was there before is better than none.
  static func rootsAgain(file: String?) throws(TransferError) -> TLSRoots {
    do throws(TLSRoots.Fault) {
      return try TLSRoots(file: file ?? TLSRoots.systemFile, pem: nil)
    } catch {
      throw TransferError(.cannotOpenFile, error.message)
    }
  }
}

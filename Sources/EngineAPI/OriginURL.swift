package import Curl
package import TransferModel

/// Checks URLs with the parser that will use them.
package enum OriginURL {
  /// Returns the error of a URL that cannot be requested; `nil` if it can.
  package static func fault(_ url: String) -> TransferError? {
    do throws(TransferError) {
      guard try parse(url).credential == nil else {
        return TransferError(.badURL, "must not contain a user or password")
      }
      return nil
    } catch {
      return error
    }
  }

  /// Returns the URL without its user and password, and these as a credential.
  package static func parse(_ url: String) throws(TransferError) -> (url: String, credential: Credential?) {
    do throws(CurlURL.Fault) {
      let parsed = try CurlURL(url)
      return parsed.hasUserInfo ? (parsed.text, parsed.credential) : (url, nil)
    } catch {
      switch error {
      case .malformed(let reason):
        throw TransferError(.badURL, "is not a valid URL (\(reason)); give an absolute http or https URL")
      case .unsupportedScheme(let scheme):
        throw TransferError(.unsupportedURL, "the scheme '\(scheme)' is not supported; use http or https")
      }
    }
  }
}

extension CurlURL {
  /// The URL's credential. It is for one task only, because other tasks may have another user at the same origin.
  package var credential: Credential? {
    hasUserInfo ? Credential(user: user ?? "", password: password ?? "", persistence: .none) : nil
  }

  /// The path of the request target.
  package var path: String { String(requestTarget.prefix { $0 != "?" }) }
}

extension OriginURL {
  /// Returns the host and path of a request for the URL; `nil` if the URL is malformed.
  package static func hostAndPath(_ url: String) -> (host: String, path: String)? {
    (try? CurlURL(url)).map { ($0.tlsHost, $0.path) }
  }

  /// Returns whether scheme, host and port are equal.
  package static func isSameOrigin(_ one: String, _ other: String) -> Bool {
    guard let one = try? CurlURL(one), let other = try? CurlURL(other) else { return false }
    return one.origin == other.origin
  }
}

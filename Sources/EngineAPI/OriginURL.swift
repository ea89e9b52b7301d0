package import Curl
package import TransferModel

/// Checks URLs with the parser that will use them.
package enum OriginURL {
  /// Why nobody can ask for this URL; nil where one can.
  package static func fault(_ url: String) -> TransferError? {
    do throws(TransferError) {
      guard try parse(url).credential == nil else {
        return TransferError(.badURL, "credentials do not belong in a URL")
      }
      return nil
    } catch {
      return error
    }
  }

  /// The URL without what it says of a user, and that apart.
  package static func parse(_ url: String) throws(TransferError) -> (url: String, credential: Credential?) {
    do throws(CurlURL.Fault) {
      let parsed = try CurlURL(url)
      return parsed.hasUserInfo ? (parsed.text, parsed.credential) : (url, nil)
    } catch {
      switch error {
      case .malformed(let reason): throw TransferError(.badURL, "not a URL: \(reason)")
      case .unsupportedScheme(let scheme):
        throw TransferError(.unsupportedURL, "the scheme '\(scheme)' is not supported; http and https are")
      }
    }
  }
}

extension CurlURL {
  /// For the task alone: another may ask for the same place as somebody else.
  package var credential: Credential? {
    hasUserInfo ? Credential(user: user ?? "", password: password ?? "", persistence: .none) : nil
  }

  /// The path that a request asks for.
  package var path: String { String(requestTarget.prefix { $0 != "?" }) }
}

extension OriginURL {
  /// The host and path that a request for the URL would go to; nil where there is none.
  package static func place(_ url: String) -> (host: String, path: String)? {
    (try? CurlURL(url)).map { ($0.tlsHost, $0.path) }
  }

  /// Scheme, host and port are the same.
  package static func isSameOrigin(_ one: String, _ other: String) -> Bool {
    guard let one = try? CurlURL(one), let other = try? CurlURL(other) else { return false }
    return one.origin == other.origin
  }
}

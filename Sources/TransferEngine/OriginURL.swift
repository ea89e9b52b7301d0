internal import Curl
package import TransferModel

/// Checks URLs with the parser that will use them.
package enum OriginURL {
  /// Why a task cannot ask for this URL; nil where it can.
  package static func fault(_ url: String) -> TransferError? {
    do throws(CurlURL.Fault) {
      let parsed = try CurlURL(url)
      guard !parsed.hasUserInfo else {
        return TransferError(.badURL, "credentials do not belong in a URL; send an Authorization header")
      }
      return nil
    } catch {
      switch error {
      case .malformed(let reason): return TransferError(.badURL, "not a URL: \(reason)", failingURL: url)
      case .unsupportedScheme(let scheme):
        return TransferError(
          .unsupportedURL, "the scheme '\(scheme)' is not supported; http and https are", failingURL: url)
      }
    }
  }
}

internal import Curl
internal import TransferModel

/// The redirects of one task, and the outcome of the next. Pure.
struct RedirectChain {
  enum NextStep: Equatable {
    case follow(TransferRequest)
    /// The delegate decides about the redirect.
    case ask(proposed: TransferRequest)
    case fail(TransferError)
  }

  private var count = 0

  /// - Parameter asks: Whether the delegate decides about redirects.
  mutating func nextStep(
    _ head: ResponseHead, from request: TransferRequest, at url: CurlURL,
    _ configuration: SessionConfiguration, asks: Bool
  ) -> NextStep {
    count += 1
    do throws(TransferError) {
      let proposed = try Redirect.proposal(
        from: request, at: url, head: head, count: count, secretNames: configuration.secretHeaderFields)
      return asks ? .ask(proposed: proposed) : Self.defaultStep(proposed, after: url, configuration)
    } catch {
      return .fail(error)
    }
  }

  /// Returns the outcome of a redirect without the delegate.
  static func defaultStep(
    _ proposed: TransferRequest, after url: CurlURL, _ configuration: SessionConfiguration
  ) -> NextStep {
    do throws(TransferError) {
      try Redirect.checkSecurity(of: proposed, after: url, configuration)
      return .follow(proposed)
    } catch {
      return .fail(error)
    }
  }
}

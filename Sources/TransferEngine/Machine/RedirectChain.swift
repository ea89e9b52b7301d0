internal import Curl
internal import TransferModel

/// The redirects that one task has met, and what becomes of the next. Pure.
struct RedirectChain {
  enum Verdict: Equatable {
    case follow(TransferRequest)
    /// The delegate says what becomes of it.
    case ask(proposed: TransferRequest)
    case fail(TransferError)
  }

  private var count = 0

  /// - Parameter asks: the delegate wants to be asked.
  mutating func meet(
    _ head: ResponseHead, from request: TransferRequest, at url: CurlURL,
    _ configuration: SessionConfiguration, asks: Bool
  ) -> Verdict {
    count += 1
    do throws(TransferError) {
      let proposed = try Redirect.proposal(
        from: request, at: url, head: head, count: count, secretNames: configuration.secretHeaderFields)
      return asks ? .ask(proposed: proposed) : Self.byDefault(proposed, after: url, configuration)
    } catch {
      return .fail(error)
    }
  }

  /// Where nobody says otherwise.
  static func byDefault(
    _ proposed: TransferRequest, after url: CurlURL, _ configuration: SessionConfiguration
  ) -> Verdict {
    do throws(TransferError) {
      try Redirect.checkSecurity(of: proposed, after: url, configuration)
      return .follow(proposed)
    } catch {
      return .fail(error)
    }
  }
}

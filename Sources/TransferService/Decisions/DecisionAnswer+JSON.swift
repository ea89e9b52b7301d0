package import HTTPFields
package import JSON
package import TransferCore
package import TransferModel

extension DecisionAnswer {
  /// The parts of a decision's event on which its answer depends.
  package struct DecisionContext: Sendable {
    package var type: EventType
    /// The authentication method of a challenge.
    package var method: AuthenticationMethod?
    /// The request that was shown. An answer may keep its redacted members.
    package var request: TransferRequest?
    /// The header fields of the response that may be cached.
    package var headers: HTTPHeaders?
    package init(type: EventType) { self.type = type }
  }
}

extension DecisionAnswer {
  /// The request in the answer, if any.
  var request: TransferRequest? {
    get {
      switch self {
      case .redirect(let request), .delayed(_, let request): request
      case .response, .caching, .challenge: nil
      }
    }
    set {
      switch self {
      case .redirect: self = .redirect(newValue)
      case .delayed(let disposition, _): self = .delayed(disposition, newValue)
      case .response, .caching, .challenge: break
      }
    }
  }

  /// Reads the answer to a decision. Returns `nil` if the answer is wrong, and adds the reasons to `violations`.
  package init?(_ value: JSONValue, to shown: DecisionContext, _ violations: Violations) {
    let type = shown.type
    guard type != .taskNeedNewBodyStream else {
      violations.add("", "this decision is answered with PUT /v1/tasks/{task}/body")
      return nil
    }
    var reader = ObjectReader(value, at: "", violations)
    defer { reader.finish() }
    switch type {
    case .taskWillPerformHTTPRedirection: self.init(redirect: shown.request, &reader)
    case .taskDidReceiveChallenge, .sessionDidReceiveChallenge:
      self.init(challenge: &reader, shown.method ?? .default)
    case .dataTaskDidReceiveResponse:
      guard let disposition: ResponseDisposition = reader.requiredChoice("disposition") else { return nil }
      self = .response(disposition)
    case .dataTaskWillCacheResponse:
      self.init(caching: &reader, shown.headers ?? HTTPHeaders())
    case .taskWillBeginDelayedRequest: self.init(delayed: &reader, shown.request)
    default: return nil
    }
  }

  private init?(redirect shown: TransferRequest?, _ reader: inout ObjectReader) {
    guard !reader.isMissing("request") else {
      reader.reject(
        "request",
        "is required; send a request to follow the redirect, or null to receive the redirect response")
      return nil
    }
    guard !reader.isNull("request") else {
      self = .redirect(nil)
      return
    }
    guard var fields = reader.object("request") else { return nil }
    self = .redirect(TransferRequest(validating: &fields, defaultMethod: "GET", keeping: shown))
  }

  private init?(delayed reader: inout ObjectReader, _ shown: TransferRequest?) {
    guard let disposition: DelayedRequestDisposition = reader.requiredChoice("disposition") else {
      return nil
    }
    var request: TransferRequest?
    reader.allowNull("request")
    if var fields = reader.object("request") {
      request = TransferRequest(validating: &fields, defaultMethod: "GET", keeping: shown)
    }
    if disposition == .useNewRequest, request == nil {
      reader.reject("request", "is required if disposition is useNewRequest")
    }
    if disposition != .useNewRequest, request != nil {
      reader.reject("request", "must be left out unless disposition is useNewRequest")
    }
    self = .delayed(disposition, request)
  }
}

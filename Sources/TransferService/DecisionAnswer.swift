package import JSON
package import TransferModel

/// What a delegate answered.
package enum DecisionAnswer: Sendable {
  /// nil: the redirect's own answer is the result.
  case redirect(TransferRequest?)
  case response(ResponseDisposition)
  case delayed(DelayedRequestDisposition, TransferRequest?)
}

/// URLSession.ResponseDisposition.
package enum ResponseDisposition: String, Sendable, CaseIterable {
  case allow, cancel, becomeDownload
}

/// URLSession.DelayedRequestDisposition.
package enum DelayedRequestDisposition: String, Sendable, CaseIterable {
  case continueLoading, useNewRequest, cancel
}

extension DecisionAnswer {
  /// The request that it brings.
  var request: TransferRequest? {
    get {
      switch self {
      case .redirect(let request), .delayed(_, let request): request
      case .response: nil
      }
    }
    set {
      switch self {
      case .redirect: self = .redirect(newValue)
      case .delayed(let disposition, _): self = .delayed(disposition, newValue)
      case .response: break
      }
    }
  }

  /// Reads the answer to a decision of that type; nil where it is wrong, with what is wrong among the violations.
  /// - Parameter body: of the request that was shown; an answer may keep it.
  package init?(
    _ value: JSONValue, to type: EventType, keeping body: RequestContent?, _ violations: Violations
  ) {
    guard type != .taskNeedNewBodyStream else {
      violations.add("", "is answered by PUT of the task's body")
      return nil
    }
    var reader = ObjectReader(value, at: "", violations)
    defer { reader.finish() }
    switch type {
    case .taskWillPerformHTTPRedirection: self.init(redirect: value, body, &reader)
    case .dataTaskDidReceiveResponse:
      guard let disposition: ResponseDisposition = Self.disposition(&reader) else { return nil }
      self = .response(disposition)
    case .taskWillBeginDelayedRequest: self.init(delayed: &reader, body)
    default: return nil
    }
  }

  private init?(redirect value: JSONValue, _ body: RequestContent?, _ reader: inout ObjectReader) {
    guard let member = value["request"] else {
      reader.reject("request", "is required: a request, or null to take the redirect's own answer")
      return nil
    }
    guard !member.isNull else {
      _ = reader.value("request")
      self = .redirect(nil)
      return
    }
    guard var fields = reader.object("request") else { return nil }
    self = .redirect(TransferRequest(validating: &fields, defaultMethod: "GET", keptBody: body))
  }

  private init?(delayed reader: inout ObjectReader, _ body: RequestContent?) {
    guard let disposition: DelayedRequestDisposition = Self.disposition(&reader) else { return nil }
    var request: TransferRequest?
    if var fields = reader.object("request") {
      request = TransferRequest(validating: &fields, defaultMethod: "GET", keptBody: body)
    }
    if disposition == .useNewRequest, request == nil {
      reader.reject("request", "is required with useNewRequest")
    }
    if disposition != .useNewRequest, request != nil { reader.reject("request", "is for useNewRequest only") }
    self = .delayed(disposition, request)
  }

  private static func disposition<Choice: RawRepresentable & CaseIterable>(_ reader: inout ObjectReader)
    -> Choice?
  where Choice.RawValue == String {
    if let choice: Choice = reader.choice("disposition") { return choice }
    if reader.value("disposition") == nil { reader.reject("disposition", "is required") }
    return nil
  }
}

internal import TransferModel

/// The kind of a received head, which depends on the state of the request and on the head's framing. Pure.
enum ResponseHeadKind: Equatable {
  /// A proxy's response to CONNECT.
  case connect
  case informational
  /// A head after the response's own head, which is ignored.
  case surplus
  /// A head that leaves the end of the response open.
  case malformed(URLErrorCode, String)
  /// A challenge that libcurl answers by itself.
  case intermediate
  case answer

  /// - Parameters:
  ///   - isPastConnect: Whether the request was sent to the origin.
  ///   - hasAnswer: Whether the response's head was received before.
  ///   - endsHere: Whether the response ends with its head, because it responds to HEAD.
  ///   - isLeg: Returns whether libcurl answers the head by itself. Called only for a head that would otherwise be the response.
  init(
    of head: ResponseHead, isPastConnect: Bool, hasAnswer: Bool, endsHere: Bool = false,
    isLeg: (ResponseHead) -> Bool
  ) {
    if !isPastConnect {
      self = .connect
    } else if head.isInformational {
      self = .informational
    } else if hasAnswer {
      self = .surplus
    } else if let fault = head.framingFault(endsHere: endsHere) {
      self = .malformed(fault.code, fault.message)
    } else {
      self = isLeg(head) ? .intermediate : .answer
    }
  }
}

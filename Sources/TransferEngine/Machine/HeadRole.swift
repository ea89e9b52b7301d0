internal import TransferModel

/// What a head is, by when it comes and whether it can be read. Pure.
enum HeadRole: Equatable {
  /// A proxy's answer to CONNECT.
  case connect
  case informational
  /// Behind the answer's own head: nobody's.
  case surplus
  /// Where the answer ends is open, or what it answers.
  case broken(URLErrorCode, String)
  /// libcurl answers it by itself.
  case leg
  case answer

  /// - Parameters:
  ///   - isPastConnect: the request is on its way to the origin.
  ///   - hasAnswer: the head of the answer is here already.
  ///   - endsHere: the answer ends with its head: it answers HEAD.
  ///   - isLeg: asked where all else says that it is the answer.
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
      self = .broken(fault.code, fault.message)
    } else {
      self = isLeg(head) ? .leg : .answer
    }
  }
}

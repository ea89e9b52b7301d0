internal import Curl
internal import HTTPFields
internal import TransferModel

/// What the delegate is asked, and what its answers lead to.
extension TransferMachine {
  /// What an answer leads to.
  enum AnswerVerdict {
    /// Another request goes out.
    case follow(TransferRequest)
    /// The answer that is here is the task's.
    case accept
    case challenge(ChallengeAnswer, on: Authenticator.Side)
    /// It goes on in the middle of its handshake.
    case handshake(ChallengeAnswer)
    /// The body is received.
    /// - Parameter download: as which the task goes on; nil: as it is.
    case allow(as: TaskID?)
    /// Whether the answer is stored, and with which fields; nil: its own.
    case store(CacheStoragePolicy, HTTPHeaders?)
    case send(BodyReference, behindHandshake: Bool)
    case fail(TransferError)
    /// Nobody asked that.
    case drop
  }

  /// - Parameters:
  ///   - number: of the question that is answered; what answers an earlier one must not reach whoever asks now.
  ///   - request: the one that is under way.
  mutating func take(_ answer: TransferAnswer, to number: Int, about request: Request) -> AnswerVerdict {
    guard number == questions, let hold = course.hold else { return .drop }
    let verdict = verdict(on: answer, to: hold, about: request)
    switch verdict {
    case .follow(let request):
      course.decided()
      course.send(request)
    case .accept, .allow, .store, .send(_, behindHandshake: false): course.decided()
    // These go on holding until it is clear what follows.
    case .challenge, .handshake, .send, .fail, .drop: break
    }
    return verdict
  }

  private func verdict(
    on answer: TransferAnswer, to hold: TransferState.WaitReason, about request: Request
  ) -> AnswerVerdict {
    switch (hold, answer) {
    case (.redirect, .redirect(let request?)): .follow(request)
    case (.redirect, .redirect(nil)): .accept
    case (.redirect(let proposed), .byDefault):
      switch RedirectChain.byDefault(proposed, after: request.url, request.configuration) {
      case .follow(let request), .ask(let request): .follow(request)
      case .fail(let error): .fail(error)
      }
    case (.challenge(let side), .challenge(let answer)): .challenge(answer, on: side)
    case (.challenge(let side), .byDefault): .challenge(.performDefaultHandling, on: side)
    case (.handshake, .challenge(let answer)): .handshake(answer)
    case (.handshake, .byDefault): .handshake(.performDefaultHandling)
    case (.response, .becomeDownload(let task)): .allow(as: task)
    case (.response, .allow), (.response, .byDefault): .allow(as: nil)
    case (.caching, .caching(let policy, let headers)): .store(policy, headers)
    case (.caching, .byDefault): .store(.allowed, nil)
    case (.bodyStream, .byDefault):
      .fail(
        TransferError(
          .requestBodyStreamExhausted, "no body was sent for the task in time",
          failingURL: request.request.url))
    case (.bodyStream(let behindHandshake), .bodyStream(let body)):
      .send(body, behindHandshake: behindHandshake)
    default: .drop
    }
  }

  // MARK: Handshakes

  /// What becomes of a handshake that is held.
  enum HandshakeVerdict: Equatable {
    case refuse
    case goOn
    case trust
    case askForBody
    case ask(AuthenticationMethod)
  }

  /// - Parameters:
  ///   - isPastConnect: the request is on its way, by another connection.
  ///   - isForNobody: there is no delegate to ask.
  ///   - lacksBody: the request's body was not asked for yet.
  ///   - isTrusted: the session trusts that chain already.
  func meet(
    _ question: TLSHandshake.Question, isPastConnect: Bool, isForNobody: Bool, lacksBody: Bool,
    isTrusted: @autoclosure () -> Bool
  ) -> HandshakeVerdict {
    guard course.state.isOnWire else { return .refuse }
    // Not the handshake that opens its connection, or nobody's transfer: there is nobody to ask.
    guard course.hold == nil, !isPastConnect, !isForNobody else { return .goOn }
    switch question {
    case .end: return lacksBody ? .askForBody : .goOn
    case .trust: return isTrusted() ? .trust : .ask(.serverTrust)
    case .certificate: return .ask(.clientCertificate)
    }
  }
}

internal import Curl
internal import HTTPFields
internal import TransferModel

/// The delegate's decisions and their outcomes.
extension TransferMachine {
  /// The outcome of an answer.
  enum AnswerAction {
    /// Send another request.
    case follow(TransferRequest)
    /// The received response is the task's.
    case accept
    case challenge(ChallengeAnswer, on: Authenticator.Side)
    /// Continue the handshake.
    case handshake(ChallengeAnswer)
    /// Receive the body.
    /// - Parameter download: The task id if the task becomes a download; `nil` if it stays a data task.
    case allow(as: TaskID?)
    /// Store the response, with these header fields or, if `nil`, with its own.
    case store(CacheStoragePolicy, HTTPHeaders?)
    case send(BodyReference, behindHandshake: Bool)
    case fail(TransferError)
    /// The answer belongs to no open decision.
    case drop
  }

  /// - Parameters:
  ///   - number: The number of the answered decision. An answer to an earlier decision must not reach the current one.
  ///   - request: The running request.
  mutating func answerAction(_ answer: TransferAnswer, to number: Int, about request: Request) -> AnswerAction
  {
    guard number == decisionCount, let hold = lifecycle.waitReason else { return .drop }
    let action = action(on: answer, to: hold, about: request)
    switch action {
    case .follow(let request):
      lifecycle.decisionReceived()
      lifecycle.send(request)
    case .accept, .allow, .store, .send(_, behindHandshake: false): lifecycle.decisionReceived()
    // These keep waiting until the next action is known.
    case .challenge, .handshake, .send, .fail, .drop: break
    }
    return action
  }

  private func action(
    on answer: TransferAnswer, to hold: TransferState.WaitReason, about request: Request
  ) -> AnswerAction {
    switch (hold, answer) {
    case (.redirect, .redirect(let request?)): .follow(request)
    case (.redirect, .redirect(nil)): .accept
    case (.redirect(let proposed), .byDefault):
      switch RedirectChain.defaultStep(proposed, after: request.url, request.configuration) {
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
          .requestBodyStreamExhausted, "the client did not send the task's body in time",
          failingURL: request.request.url))
    case (.bodyStream(let behindHandshake), .bodyStream(let body)):
      .send(body, behindHandshake: behindHandshake)
    default: .drop
    }
  }

  // MARK: Handshakes

  /// The outcome of a held handshake.
  enum HandshakeAction: Equatable {
    case refuse
    case goOn
    case trust
    case askForBody
    case ask(AuthenticationMethod)
  }

  /// - Parameters:
  ///   - isPastConnect: Whether the request was sent on another connection.
  ///   - isForNobody: Whether the transfer has no delegate, as a background revalidation.
  ///   - lacksBody: Whether the request's body must still be asked for.
  ///   - isTrusted: Returns whether the session trusts the chain already.
  func handshakeAction(
    _ question: TLSHandshake.PausePoint, isPastConnect: Bool, isForNobody: Bool, lacksBody: Bool,
    isTrusted: @autoclosure () -> Bool
  ) -> HandshakeAction {
    guard lifecycle.state.isOnWire else { return .refuse }
    // The handshake does not open this transfer's connection, or the transfer has no delegate.
    guard lifecycle.waitReason == nil, !isPastConnect, !isForNobody else { return .goOn }
    switch question {
    case .end: return lacksBody ? .askForBody : .goOn
    case .trust: return isTrusted() ? .trust : .ask(.serverTrust)
    case .certificate: return .ask(.clientCertificate)
    }
  }
}

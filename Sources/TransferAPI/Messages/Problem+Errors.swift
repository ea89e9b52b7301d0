internal import Cluster
internal import HTTPServer
internal import JSON
internal import Limits
internal import TransferModel
internal import TransferService

extension Problem {
  /// Every failure becomes a reply here and nowhere else.
  init(_ error: any Error) {
    switch error {
    case let problem as Problem: self = problem
    case let error as InvalidFields:
      self = Problem(error.violations, omitted: error.omitted)
    case let error as ServiceError: self = Self.problem(of: error)
    case let error as ClusterError: self = Self.problem(of: error)
    case let error as RequestBodyError: self = Self.problem(of: error)
    case let error as RequestFault: self = Self.problem(of: error)
    case let error as JSONSyntaxError: self = Self.problem(of: error)
    default: self = Problem(.internalError)
    }
  }

  private static func problem(of error: ServiceError) -> Problem {
    switch error {
    case .sessionNotFound: Problem(.notFound, "no session has this id")
    case .taskNotFound: Problem(.notFound, "no task has this id")
    case .sharedSession: Problem(.conflict, "the shared session is always there")
    case .sessionInvalid: Problem(.conflict, "the session is invalidated and takes no more tasks")
    case .sessionNotInvalid: Problem(.conflict, "the session is not invalid; invalidate it first")
    case .tooManyTasks(let limit):
      Problem(.quotaExceeded, "the session has \(limit) unfinished tasks, the most it may have")
        .with("Retry-After", "5")
    case .submittedTasksFull:
      Problem(
        .quotaExceeded,
        """
        the texts of the session's submitted tasks would exceed \(Limits.submittedTaskBytes.value) bytes; shorten the description, \
        or try again when a task has ended
        """
      )
      .with("Retry-After", "5")
    case .memoryFull(let limit):
      Problem(
        .storeFull,
        "ephemeral sessions may use at most \(limit) bytes of memory in total (--maximum-ephemeral-bytes)"
      )
      .with("Retry-After", "5")
    case .configurationNotFound: Problem(.notFound, "no configuration has this name")
    case .configurationExists: Problem(.conflict, "a configuration has this name; PUT replaces it")
    case .decisionNotFound: Problem(.notFound, "no decision has this id")
    case .decisionSettled(let state): Problem(.decisionSettled, "the decision is \(state.rawValue)")
    case .fileNotFound: Problem(.notFound, "no file has this id")
    case .noBodyStream: Problem(.conflict, "the task's request has no streamed body")
    case .bodyStreamNotWanted:
      Problem(.conflict, "the task does not wait for a body: it has one, or has ended")
    case .preconditionFailed: Problem(.preconditionFailed)
    case .bodyNotReady(let state): Problem(.bodyNotReady, "the task is \(state.rawValue)")
    case .bodyNotFound(let absence): Problem(.bodyNotFound, "\(absence)")
    case .noCredentialStorage:
      Problem(.conflict, "the session has no credential storage (urlCredentialStorage is false)")
    case .credentialsFull(let limit):
      Problem(
        .limitExceeded,
        violations: [
          FieldViolation(
            pointer: limit.unit == .count ? "/protectionSpace" : "/credential",
            detail:
              "a session may have at most \(limit.value)\(limit.unit == .count ? "" : " bytes of") credentials; delete some",
            isExcess: true)
        ])
    case .tooManyProbes:
      Problem(
        .quotaExceeded,
        """
        \(Limits.waitingProbes.value) reachability probes of this tenant are already waiting, or this one has waited for \
        \(Limits.probeWaitSeconds.value) seconds; try again later
        """
      ).with("Retry-After", "5")
    case .idempotencyMismatch: Problem(.idempotencyMismatch)
    case .idempotencyInProgress, .keyTaken: Problem(.idempotencyInProgress).with("Retry-After", "1")
    case .identifierInUse(let differences):
      identifierInUse("is of a session with another " + differences.joined(separator: ", "))
    case .identifierBeingInvalidated:
      identifierInUse("is of a session that is being invalidated").with("Retry-After", "1")
    case .draining: draining(retryAfter: 5)
    case .storeFull: Problem(.storeFull).with("Retry-After", "10")
    case .storeUnavailable: Problem(.storeUnavailable).with("Retry-After", "5")
    case .storedDataUnreadable(let row): Problem(.storedDataUnreadable, "\(row)")
    }
  }

  private static func problem(of error: ClusterError) -> Problem {
    let problem = problem(of: ServiceError(error))
    switch error {
    case .moving, .ownerLost: return problem.with("Retry-After", "1")
    case .misdirected, .unavailable, .store: return problem
    }
  }

  private static func identifierInUse(_ detail: String) -> Problem {
    Problem(.identifierInUse, violations: [FieldViolation(pointer: "/identifier", detail: detail)])
  }

  private static func problem(of error: JSONSyntaxError) -> Problem {
    let detail = "\(error)"
    guard let excess = error.excess else { return Problem(.malformedJSON, detail) }
    return Problem(.invalidRequest, violations: [FieldViolation(pointer: excess, detail: detail)])
  }

  private static func problem(of error: RequestBodyError) -> Problem {
    switch error {
    case .tooLarge(let limit): Problem(.payloadTooLarge, "at most \(limit) bytes are taken")
    case .disconnected: Problem(.malformedHTTP, "the body ended early")
    case .noRoom:
      Problem(
        .quotaExceeded,
        "request bodies in progress exceed the limit of \(Limits.receivingBytes.value) bytes for all clients together"
      ).with(
        "Retry-After", "5")
    }
  }

  private static func problem(of fault: RequestFault) -> Problem {
    switch fault {
    case .malformed(let detail): Problem(.malformedHTTP, detail)
    case .headTooLarge(let detail): Problem(.headTooLarge, detail)
    case .targetTooLong(let limit): Problem(.targetTooLong, "at most \(limit) bytes are taken")
    case .bodyTooLong(let limit):
      Problem(
        .payloadTooLarge,
        "\(limit) bytes came behind what was answered already; what they followed may have been done")
    case .timedOut(let seconds): Problem(.requestTimeout, "it was not there within \(seconds) seconds")
    case .bodyStalled(let seconds):
      Problem(.requestTimeout, "no byte of the body arrived for \(seconds) seconds")
    case .bodyTooSlow(let bytes, let seconds):
      Problem(.requestTimeout, "fewer than \(bytes) bytes of the body arrived in \(seconds) seconds")
    case .tooManyReplies:
      Problem(
        .quotaExceeded,
        "unsent replies exceed the limit of \(Limits.replyBytes.value) bytes for all clients together"
      ).with(
        "Retry-After", "5")
    case .replyTooLarge: Problem(.internalError, "the reply's fields are too large to be sent")
    }
  }
}

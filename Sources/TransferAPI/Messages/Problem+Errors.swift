internal import Cluster
internal import HTTPServer
internal import JSON
internal import Limits
internal import TransferCore
internal import TransferModel
internal import TransferService

extension Problem {
  /// Maps an error to its problem. No other place makes replies from errors.
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

  private static func text(of refusal: RetryRefusal) -> String {
    switch refusal {
    case .unfinished(let state):
      "the task is \(state.rawValue) and does not wait for another attempt; retry it when it has failed"
    case .succeeded: "the task succeeded; create another task to repeat its request"
    case .becameDownload(let task): "the task became the download \(task); retry that task"
    case .streamedBody: "the body of the request was a stream, which Ferry does not keep; create another task"
    case .bodyDeleted: "the body of the request no longer exists; create another task with its body"
    case .invalidResumeData: "the resume data of the task are not valid; create another task from its request"
    }
  }

  private static func text(of refusal: RequestChangeRefusal) -> String {
    switch refusal {
    case .state(let state, nil):
      "the task is \(state.rawValue), so its request cannot change; create another task, or repeat an ended one with POST …/retry"
    case .state(_, let phase?):
      "the task is \(phase.rawValue), so its request cannot change; suspend the task first, or create another one"
    case .responded:
      "the client has already received the response, so the request cannot change; cancel the task and create another one"
    case .sent(let method):
      "the request was sent, and Ferry does not repeat \(method), so the request cannot change; cancel the task and create another one"
    case .streaming:
      "the transfer has already asked for the streamed body, so the request cannot change; create another task"
    }
  }

  private static func problem(of names: [String], isSameOrigin: Bool) -> Problem {
    Problem(
      .unprocessable,
      violations: names.map { name in
        FieldViolation(
          pointer: JSONPointer.appending(name, to: "/request/headers"),
          detail: isSameOrigin
            ? "is redacted, and the task has no value for it; send the value"
            : "is redacted, and its value must not go to another origin; send the value, or leave the field out"
        )
      })
  }

  private static func problem(of error: ServiceError) -> Problem {
    switch error {
    case .sessionNotFound: Problem(.notFound, "no session has this id; GET /v1/sessions lists the sessions")
    case .taskNotFound:
      Problem(.notFound, "no task has this id; GET /v1/tasks lists the tasks")
    case .groupNotFound:
      Problem(.notFound, "no group has this name; GET /v1/groups lists the groups")
    case .groupClosed(let name):
      Problem(
        .conflict,
        "the group '\(BoundedText.text(name))' is closed and accepts no new tasks; use another group")
    case .taskNotFinished(let state):
      Problem(.conflict, "the task is \(state.rawValue); cancel it, and delete it when it has ended")
    case .sharedSession:
      Problem(.conflict, "the shared session cannot be invalidated or deleted; create another session")
    case .sessionInvalid:
      Problem(
        .conflict, "the session is invalidated; create another session")
    case .sessionNotInvalid:
      Problem(
        .conflict,
        "only an invalid session can be deleted; invalidate it, and wait until its tasks have ended")
    case .tooManyTasks(let limit):
      Problem(
        .quotaExceeded,
        "the session has \(limit) unfinished tasks, its limit; try again when a task has ended"
      )
      .with("Retry-After", "5")
    case .submittedTasksFull:
      Problem(
        .quotaExceeded,
        """
        the texts of the session's submitted tasks would exceed \(Limits.submittedTaskBytes.value) bytes; shorten the description or the request, \
        or try again when a task has ended
        """
      )
      .with("Retry-After", "5")
    case .memoryFull(let limit):
      Problem(
        .storeFull,
        "ephemeral sessions have reached their limit of \(limit) bytes of memory (--maximum-ephemeral-bytes); invalidate one"
      )
      .with("Retry-After", "5")
    case .configurationNotFound:
      Problem(.notFound, "no configuration has this name; GET /v1/configurations lists the names")
    case .configurationExists:
      Problem(.conflict, "a configuration with this name exists; use PUT to replace it")
    case .decisionNotFound:
      Problem(.notFound, "no decision has this id; GET /v1/sessions/{session}/decisions lists the decisions")
    case .decisionSettled(let state):
      Problem(
        .decisionSettled, "the decision is \(state.rawValue); only a pending decision accepts an answer")
    case .fileNotFound: Problem(.notFound, "no file has this id; GET /v1/files lists the files")
    case .endpointNotFound:
      Problem(.notFound, "no webhook endpoint has this id; GET /v1/webhooks/endpoints lists the endpoints")
    case .deliveryNotFound:
      Problem(.notFound, "no delivery has this id; GET /v1/webhooks/deliveries lists the deliveries")
    case .endpointDisabled:
      Problem(.conflict, "the endpoint is disabled; enable it with PATCH and {\"state\": \"enabled\"}")
    case .endpointDeleted:
      Problem(.conflict, "the endpoint of the message was deleted, so the message cannot be sent again")
    case .tooManyEndpoints:
      Problem(
        .conflict,
        "the tenant has \(Limits.endpoints.value) webhook endpoints, its limit; delete one that is not needed"
      )
    case .noBodyStream:
      Problem(
        .conflict,
        "the body of the task's request is not a stream; create a task with {\"stream\":true} as its body")
    case .bodyStreamNotWanted:
      Problem(.conflict, "the task is not waiting for a body; it already has one, or has ended")
    case .preconditionFailed:
      Problem(.preconditionFailed, "If-Match or If-None-Match does not allow the current version")
    case .requestInUse(let refusal): Problem(.conflict, text(of: refusal))
    case .redactedFields(let names, let isSameOrigin): problem(of: names, isSameOrigin: isSameOrigin)
    case .notRetried(let refusal): Problem(.conflict, text(of: refusal))
    case .bodyNotReady(let state):
      Problem(
        .bodyNotReady,
        "the task is \(state.rawValue), and has no body yet; read the body when the task has ended")
    case .bodyIsPlaced(let file):
      Problem(
        .conflict, "the body is the file \(file), which belongs to you; read it there or from the task's body"
      )
    case .destinationNotPermitted(let hasDirectories):
      Problem(
        .destinationNotPermitted,
        violations: [
          FieldViolation(
            pointer: "/destination/file",
            detail: hasDirectories
              ? "must be below a directory that the operator has opened for your tenant; name such a file, or leave destination out"
              : "must be left out, because the operator has opened no directory (--destination-directory)")
        ])
    case .bodyNotFound(let absence): Problem(.bodyNotFound, "\(absence)")
    case .noCredentialStorage:
      Problem(
        .conflict, "urlCredentialStorage of the session is false; use a session with credential storage")
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
    case .idempotencyMismatch:
      Problem(
        .idempotencyMismatch, "the Idempotency-Key belongs to another method, path or body; use a new key")
    case .idempotencyInProgress, .keyTaken: Problem(.idempotencyInProgress).with("Retry-After", "1")
    case .identifierInUse(let differences):
      identifierInUse(
        "belongs to a session with a different \(differences.joined(separator: ", ")); use another identifier"
      )
    case .identifierBeingInvalidated:
      identifierInUse("belongs to a session that is being invalidated; try again later").with(
        "Retry-After", "1")
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
    case .tooLarge(let limit): Problem(.payloadTooLarge, "the limit is \(limit) bytes; send a smaller body")
    case .disconnected: Problem(.malformedHTTP, "the body ended early; send the request again")
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
    case .targetTooLong(let limit): Problem(.targetTooLong, "the limit is \(limit) bytes; shorten the URL")
    case .bodyTooLong(let limit):
      Problem(
        .payloadTooLarge,
        "\(limit) more bytes followed when the reply was ready; the request may have been carried out")
    case .timedOut(let seconds):
      Problem(.requestTimeout, "the request did not arrive within \(seconds) seconds")
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
    case .replyTooLarge: Problem(.internalError, "the header fields of the reply are too large to be sent")
    }
  }
}

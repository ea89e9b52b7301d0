internal import BlobStore
package import Cluster
internal import EngineAPI
package import Ledger
package import Limits
package import TransferCore
package import TransferModel

/// The reason why a use case failed. The API maps each case to one problem.
package enum ServiceError: Error, Sendable {
  case sessionNotFound
  case taskNotFound
  case groupNotFound
  /// The group of this name accepts no new tasks.
  case groupClosed(String)
  /// Only a task that has ended can be deleted.
  case taskNotFinished(TaskState)
  /// The shared session cannot be invalidated or deleted.
  case sharedSession
  /// The session accepts no new tasks.
  case sessionInvalid
  /// Only invalidated sessions can be deleted.
  case sessionNotInvalid
  case tooManyTasks(limit: Int)
  /// The texts of the session's submitted tasks have reached their limit (`Limits.submittedTaskBytes`).
  case submittedTasksFull
  case decisionNotFound
  /// The decision was answered before, expired, or was withdrawn.
  case decisionSettled(Decision.State)
  case fileNotFound
  case endpointNotFound
  case deliveryNotFound
  /// The endpoint is disabled, so no messages are sent to it.
  case endpointDisabled
  /// The endpoint of a message that a client wants again was deleted.
  case endpointDeleted
  /// The tenant's webhook endpoints have reached their limit.
  case tooManyEndpoints
  /// The task's body is not a stream.
  case noBodyStream
  /// The request's body is already here, or the task has ended.
  case bodyStreamNotWanted
  /// If-Match does not match the current version.
  case preconditionFailed
  /// The request of the task cannot change now.
  case requestInUse(RequestChangeRefusal)
  /// Redacted header fields of a changed request that have no value to keep.
  case redactedFields([String], isSameOrigin: Bool)
  /// The task cannot be retried.
  case notRetried(RetryRefusal)
  case bodyNotReady(TaskState)
  case bodyNotFound(BodyAbsence)
  /// The body is the file at the task's destination, which stays there.
  case bodyIsPlaced(String)
  /// The destination is in no directory that the operator has opened for the tenant.
  case destinationNotPermitted(hasDirectories: Bool)
  /// The session stores no credentials.
  case noCredentialStorage
  /// The session's credentials have reached a limit of count or size.
  case credentialsFull(Limit)
  /// Too many of the tenant's reachability probes are waiting, or this one has waited too long.
  case tooManyProbes
  case idempotencyMismatch
  case idempotencyInProgress
  /// Another process runs, or has run, the request with this Idempotency-Key.
  case keyTaken
  /// Another background session with different members uses the identifier. The value names these members.
  case identifierInUse(differences: [String])
  /// The background session that uses the identifier is invalidated and waits for its tasks to end.
  case identifierBeingInvalidated
  case draining
  /// The ephemeral sessions use all the memory that they may use (`--maximum-ephemeral-bytes`).
  case memoryFull(limit: Int64)
  case configurationNotFound
  /// A configuration of this name exists.
  case configurationExists
  /// The disk is full. Nothing was changed.
  case storeFull
  /// The database cannot be read or written now. Nothing was changed.
  case storeUnavailable(String)
  /// The stored row cannot be decoded. The value names the row and the reason.
  case storedDataUnreadable(UnreadableRow)
}

extension ServiceError {
  /// Maps a session's refusal to create tasks.
  init(_ refusal: InputRefusal) {
    if case .tooManyTasks(let limit) = refusal {
      self = .tooManyTasks(limit: limit)
    } else {
      self = .sessionInvalid
    }
  }

  /// Whether the error is a limit on numbers or bytes, which a smaller request may satisfy.
  package var isLimit: Bool {
    switch self {
    case .tooManyTasks, .memoryFull: true
    default: false
    }
  }

  static func blob(_ failure: BlobError) -> ServiceError {
    failure.isFull ? .storeFull : .storeUnavailable(failure.message)
  }

  package init(_ error: ClusterError) {
    switch error {
    case .moving: self = .storeUnavailable("the session is being handed over to another service")
    case .ownerLost:
      self = .storeUnavailable(
        "the service that owned the session is dead; it may have carried out the request")
    case .misdirected: self = .storeUnavailable("another service owns the session")
    case .unavailable(let reason): self = .storeUnavailable(reason)
    case .store(let error): self = .store(error)
    }
  }

  static func store(_ error: LedgerError) -> ServiceError {
    switch error {
    case .full: .storeFull
    case .unavailable(let reason): .storeUnavailable(reason)
    case .notOwner: .storeUnavailable("another service owns the session")
    case .fencedOff: .storeUnavailable("another service has taken over")
    case .conditionFailed(.keyAbsent): .keyTaken
    case .conditionFailed(.groupOpen(let key)): .groupClosed(key.name)
    case .conditionFailed(.revision), .conditionFailed(.unchanged), .conditionFailed(.endpointRevision),
      .conditionFailed(.deliveryState), .conditionFailed(.groupEnded):
      .preconditionFailed
    case .unreadable(let row): .storedDataUnreadable(row)
    }
  }
}

extension ServiceError: CustomStringConvertible {
  /// The text for the log.
  package var description: String {
    switch self {
    case .sessionNotFound: "no such session"
    case .taskNotFound: "no such task"
    case .groupNotFound: "no such group"
    case .groupClosed(let name): "the group '\(name)' is closed"
    case .taskNotFinished(let state): "the task is \(state.rawValue)"
    case .sharedSession: "the shared session cannot be removed"
    case .sessionInvalid: "the session is invalidated"
    case .sessionNotInvalid: "the session is not invalid"
    case .submittedTasksFull: "the texts of the session's submitted tasks have reached their limit"
    case .tooManyTasks(let limit): "the session has \(limit) unfinished tasks, its limit"
    case .decisionNotFound: "no such decision"
    case .decisionSettled(let state): "the decision is \(state.rawValue)"
    case .fileNotFound: "no such file"
    case .noBodyStream: "the task's body is not a stream"
    case .bodyStreamNotWanted: "the task has its body, or has ended"
    case .endpointNotFound: "no such webhook endpoint"
    case .deliveryNotFound: "no such delivery"
    case .endpointDisabled: "the webhook endpoint is disabled"
    case .endpointDeleted: "the webhook endpoint of the message was deleted"
    case .tooManyEndpoints: "the tenant has as many webhook endpoints as it may have"
    case .preconditionFailed: "If-Match names another version"
    case .requestInUse(let refusal): "the request cannot change: \(refusal)"
    case .redactedFields(let names, _): "no values to keep for \(names.joined(separator: ", "))"
    case .notRetried(let refusal): "the task cannot be retried: \(refusal)"
    case .bodyNotReady: "the body is not ready"
    case .bodyNotFound: "the task has no body"
    case .bodyIsPlaced: "the body is the file at the task's destination"
    case .destinationNotPermitted: "the destination is in no opened directory"
    case .noCredentialStorage: "the session has no credential storage"
    case .tooManyProbes: "too many reachability probes are waiting"
    case .credentialsFull: "the session's credentials have reached their limit"
    case .idempotencyMismatch: "the Idempotency-Key belongs to another request"
    case .idempotencyInProgress, .keyTaken: "the request with the Idempotency-Key is still running"
    case .identifierInUse(let differences):
      "the identifier belongs to a session with a different \(differences.joined(separator: ", "))"
    case .identifierBeingInvalidated: "the session with the identifier is being invalidated"
    case .draining: "the service is stopping"
    case .memoryFull(let limit): "ephemeral sessions may use at most \(limit) bytes of memory in total"
    case .configurationNotFound: "no such configuration"
    case .configurationExists: "the configuration exists"
    case .storeFull: "the disk is full"
    case .storeUnavailable(let reason): "the database cannot be used: \(reason)"
    case .storedDataUnreadable(let row): "\(row)"
    }
  }
}

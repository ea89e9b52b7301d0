internal import BlobStore
package import Cluster
internal import EngineAPI
package import Ledger
package import Limits
internal import TransferCore
package import TransferModel

/// Why a use case did not happen. The API turns each into one problem.
package enum ServiceError: Error, Sendable {
  case sessionNotFound
  case taskNotFound
  /// The shared session cannot be invalidated or deleted.
  case sharedSession
  /// The session takes no more tasks.
  case sessionInvalid
  /// Only an invalid session can be deleted.
  case sessionNotInvalid
  case tooManyTasks(limit: Int)
  /// The session's submitted tasks have texts as long as they may.
  case submittedTasksFull
  case decisionNotFound
  /// Another answer came first, or none did in time.
  case decisionSettled(Decision.State)
  case fileNotFound
  /// The task's body is not a stream.
  case noBodyStream
  /// The task has its body, or has ended.
  case bodyStreamNotWanted
  /// If-Match names another version.
  case preconditionFailed
  case bodyNotReady(TaskState)
  case bodyNotFound(BodyAbsence)
  /// The session remembers no credentials.
  case noCredentialStorage
  /// It has as many as it may, or as large ones.
  case credentialsFull(Limit)
  /// Too many of the tenant's reachability probes are waiting, or this one has waited too long.
  case tooManyProbes
  case idempotencyMismatch
  case idempotencyInProgress
  /// Another process has carried out the request of the key, or does so.
  case keyTaken
  /// A background session has the identifier and is not what the client asks for: its members that differ.
  case identifierInUse(differences: [String])
  /// The background session that has the identifier waits for its tasks to end.
  case identifierBeingInvalidated
  case draining
  /// Ephemeral sessions hold all the bytes that they may.
  case memoryFull(limit: Int64)
  case configurationNotFound
  /// Another configuration has the name.
  case configurationExists
  /// No room on the disk: nothing was changed.
  case storeFull
  /// The store cannot be written or read at the moment: nothing was changed.
  case storeUnavailable(String)
  /// What was asked for is stored, and not as it was written: it says what and where.
  case storedDataUnreadable(UnreadableRow)
}

extension ServiceError {
  /// Why a session creates no tasks.
  init(_ refusal: Refusal) {
    if case .tooManyTasks(let limit) = refusal {
      self = .tooManyTasks(limit: limit)
    } else {
      self = .sessionInvalid
    }
  }

  /// It is one limit or another, which less of the same may keep.
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
        "the service that had the session is gone; it may have carried out the request")
    case .misdirected: self = .storeUnavailable("another service has the session")
    case .unavailable(let reason): self = .storeUnavailable(reason)
    case .store(let error): self = .store(error)
    }
  }

  static func store(_ error: StoreError) -> ServiceError {
    switch error {
    case .full: .storeFull
    case .unavailable(let reason): .storeUnavailable(reason)
    case .notOwner: .storeUnavailable("another service has the session")
    case .fencedOff: .storeUnavailable("another process has taken over")
    case .unmet(.keyAbsent): .keyTaken
    case .unmet(.revision), .unmet(.unchanged): .preconditionFailed
    case .unreadable(let row): .storedDataUnreadable(row)
    }
  }
}

extension ServiceError: CustomStringConvertible {
  /// As the log has it.
  package var description: String {
    switch self {
    case .sessionNotFound: "no such session"
    case .taskNotFound: "no such task"
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
    case .preconditionFailed: "If-Match names another version"
    case .bodyNotReady: "the body is not ready"
    case .bodyNotFound: "the task has no body"
    case .noCredentialStorage: "the session has no credential storage"
    case .tooManyProbes: "too many reachability probes are waiting"
    case .credentialsFull: "the session's credentials have reached their limit"
    case .idempotencyMismatch: "the Idempotency-Key belongs to another request"
    case .idempotencyInProgress, .keyTaken: "the request of the Idempotency-Key still runs"
    case .identifierInUse(let differences):
      "the identifier is in use, with another \(differences.joined(separator: ", "))"
    case .identifierBeingInvalidated: "the session of the identifier is being invalidated"
    case .draining: "the service is about to stop"
    case .memoryFull(let limit): "ephemeral sessions may use at most \(limit) bytes of memory in total"
    case .configurationNotFound: "no such configuration"
    case .configurationExists: "the configuration exists"
    case .storeFull: "the disk is full"
    case .storeUnavailable(let reason): "the database cannot be used: \(reason)"
    case .storedDataUnreadable(let row): "\(row)"
    }
  }
}

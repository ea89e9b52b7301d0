/// An event in the transfer of a task. The engine and the worker report facts in order; the worker stores its own for the service. Large
/// payloads are indirect, because facts are passed through several queues.
package enum TransferFact: Sendable {
  /// A request of the task starts, or the cache starts to serve it. May be reported again; sent and received bytes then count from 0.
  case began(TaskID, at: Timestamp)
  indirect case redirected(TaskID, TransferResponse, to: TransferRequest, at: Timestamp)
  indirect case notified(TaskID, TransferNotification, at: Timestamp)
  indirect case response(TaskID, TransferResponse, BodyReference, at: Timestamp)
  /// The header fields of a download's response have arrived. This produces no event.
  indirect case accepted(TaskID, TransferResponse)
  /// The response is about to be stored in the cache, without a decision.
  indirect case willCache(TaskID, TransferResponse, size: Int64, at: Timestamp)
  /// No network reaches the origin. The transfer continues by itself when the origin becomes reachable.
  case waitsForConnectivity(TaskID, at: Timestamp)
  /// The transfer waits for a decision. The decisions of a task are numbered in ascending order.
  indirect case asked(TaskID, Int, TransferQuestion, at: Timestamp)
  /// A download or an upload resumes at byte `offset`; 0 if it starts again from the beginning.
  case resumed(TaskID, offset: Int64, expectedTotal: Int64, at: Timestamp)
  /// A later attempt can resume from this point: a partial download on disk, or an upload that its server can resume.
  indirect case keptPartial(TaskID, ResumePoint)
  /// The server accepted a credential whose persistence is not `none`. The session's storage does not have it yet.
  indirect case authenticated(TaskID, ProtectionSpace, Credential)
  case progress(TaskID, TaskProgress, at: Timestamp)
  indirect case ended(TaskID, TransferOutcome)

  // MARK: Worker only

  /// An attempt failed, and another will follow.
  indirect case willRetry(TaskID, count: Int, at: Timestamp, wait: RetryWait)
  /// The task's earliestBeginDate has passed.
  case beganDelayed(TaskID, at: Timestamp)
  /// The attempt was interrupted: the worker died or stopped it. The task continues from its partial file, if there is one.
  case attemptReplaced(TaskID, at: Timestamp)

  package var task: TaskID {
    switch self {
    case .began(let task, _), .redirected(let task, _, _, _), .notified(let task, _, _),
      .response(let task, _, _, _), .accepted(let task, _), .willCache(let task, _, _, _),
      .waitsForConnectivity(let task, _), .asked(let task, _, _, _), .resumed(let task, _, _, _),
      .keptPartial(let task, _), .authenticated(let task, _, _), .progress(let task, _, _),
      .ended(let task, _),
      .willRetry(let task, _, _, _), .beganDelayed(let task, _), .attemptReplaced(let task, _):
      task
    }
  }
}

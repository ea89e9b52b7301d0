/// What has happened to the transfer of a task. The engine and the worker report facts in the order in which they happened; the worker
/// stores its own for the service. Large payloads are indirect, because facts are passed through several queues.
package enum TransferFact: Sendable, Codable {
  /// It left the queue.
  case began(TaskID, at: Timestamp)
  indirect case redirected(TaskID, TransferResponse, to: TransferRequest, at: Timestamp)
  case informational(TaskID, status: Int, headers: HTTPHeaders, at: Timestamp)
  indirect case response(TaskID, TransferResponse, BodyReference, at: Timestamp)
  /// The head of a download's response is here; no delegate is told.
  indirect case accepted(TaskID, TransferResponse)
  /// What came is about to be stored.
  indirect case willCache(TaskID, TransferResponse, size: Int64, at: Timestamp)
  /// No network leads to the origin; it goes on by itself once one does.
  case waitsForConnectivity(TaskID, at: Timestamp)
  /// It waits for an answer to the question of that number: each of a task's has a higher one.
  indirect case asked(TaskID, Int, TransferQuestion, at: Timestamp)
  /// A download or an upload goes on at that byte; 0: it had to start anew.
  case resumed(TaskID, offset: Int64, expectedTotal: Int64, at: Timestamp)
  /// The bytes of a download now go to the disk, where a later one could go on from them.
  indirect case keeps(TaskID, ResumePoint)
  /// A credential let the task in that is to be remembered for longer than the process.
  indirect case authenticated(TaskID, ProtectionSpace, Credential)
  case progress(TaskID, TaskProgress, at: Timestamp)
  indirect case ended(TaskID, TransferOutcome)

  // MARK: The worker only

  /// An attempt failed, and another will follow.
  indirect case retries(TaskID, count: Int, at: Timestamp, wait: RetryWait)
  /// Its begin date has come.
  case beganDelayed(TaskID, at: Timestamp)
  /// The worker that carried it out is gone or has stopped the attempt. The task continues from what is on disk.
  case wasTakenOver(TaskID, at: Timestamp)

  package var task: TaskID {
    switch self {
    case .began(let task, _), .redirected(let task, _, _, _), .informational(let task, _, _, _),
      .response(let task, _, _, _), .accepted(let task, _), .willCache(let task, _, _, _),
      .waitsForConnectivity(let task, _), .asked(let task, _, _, _), .resumed(let task, _, _, _),
      .keeps(let task, _), .authenticated(let task, _, _), .progress(let task, _, _), .ended(let task, _),
      .retries(let task, _, _, _), .beganDelayed(let task, _), .wasTakenOver(let task, _):
      task
    }
  }
}

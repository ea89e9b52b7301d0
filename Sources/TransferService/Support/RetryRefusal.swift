package import TransferModel

/// The reason why a task cannot be retried.
package enum RetryRefusal: Sendable {
  /// The task is unfinished and does not wait for another attempt.
  case unfinished(TaskState)
  case succeeded
  /// The data task was replaced by a download.
  case becameDownload(TaskID)
  /// The body of the request was a stream, which Ferry does not keep.
  case streamedBody
  /// The body of the request, or its stored file, no longer exists.
  case bodyDeleted
  /// The request was created from resume data that are not valid.
  case invalidResumeData
}

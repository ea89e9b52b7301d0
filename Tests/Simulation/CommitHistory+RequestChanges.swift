internal import EngineAPI
internal import TransferModel

/// The changes of requests by clients. A changed URL has the number of its change.
extension CommitHistory {
  static func changedURL(_ number: Int) -> String { "http://origin.test/changed?\(number)" }

  /// Returns the number of the change that a URL results from: 0 for an original URL, and `nil` for a URL that a delegate has supplied.
  /// Redirects keep the number.
  private static func number(of url: String) -> Int? {
    if let number = url.split(separator: "?").last.flatMap({ Int($0) }) { return number }
    return url.hasPrefix("http://origin.test/") && Int(url.dropFirst(19)) != nil ? 0 : nil
  }

  /// Notes that a client's change is acknowledged, and checks that it is committed.
  func noteChange(_ number: Int, of id: TaskID) {
    guard let row = tasks[id]?.row, let committed = Self.number(of: row.submittedRequest.url) else { return }
    if committed < number {
      violate(.changedRequestsAreUsed, "the change of \(name(id)) was acknowledged before its commit")
    }
  }

  /// Checks an attempt that begins.
  /// - Parameter node: the service that runs the attempt; `nil` for the worker.
  func checkStart(of job: TransferJob, at node: Int?) {
    guard let story = tasks[job.task], let number = Self.number(of: job.request.url) else { return }
    guard let node else {
      // The worker may not have read the latest change, but it must not lose an earlier one.
      if number < workerStarts[job.task] ?? 0 {
        violate(.changedRequestsAreUsed, "the worker has lost the change of \(name(job.task))")
      }
      workerStarts[job.task] = number
      return
    }
    guard job.sessionType == .ephemeral || owns(story.session, node) else { return }
    if number < Self.number(of: story.row.submittedRequest.url) ?? 0 {
      violate(.changedRequestsAreUsed, "\(name(job.task)) begins with \(job.request.url)")
    }
  }
}

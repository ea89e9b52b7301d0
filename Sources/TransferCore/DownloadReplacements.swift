internal import TransferModel

/// The data tasks that became downloads, until those downloads end. A plain value.
struct DownloadReplacements: Sendable {
  private var downloads: [TaskID: TaskID] = [:]
  private var dataTasks: [TaskID: TaskID] = [:]

  func isContinued(_ dataTask: TaskID) -> Bool { downloads[dataTask] != nil }

  mutating func insert(_ dataTask: TaskID, as download: TaskID) {
    downloads[dataTask] = download
    dataTasks[download] = dataTask
  }

  /// Removes a download that has ended. Returns the data task that it replaced.
  mutating func remove(_ download: TaskID) -> TaskID? {
    guard let dataTask = dataTasks.removeValue(forKey: download) else { return nil }
    downloads[dataTask] = nil
    return dataTask
  }

  /// Returns the task that a fact is about. An engine may report the end of a data task that has just become a download.
  func subject(of fact: TransferFact) -> TaskID {
    guard case .ended(let task, _) = fact else { return fact.task }
    return downloads[task] ?? task
  }
}

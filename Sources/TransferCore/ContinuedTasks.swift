internal import TransferModel

/// The data tasks of a session that go on as downloads, as long as those are unfinished. A plain value.
struct ContinuedTasks: Sendable {
  private var downloads: [TaskID: TaskID] = [:]
  private var dataTasks: [TaskID: TaskID] = [:]

  func isContinued(_ dataTask: TaskID) -> Bool { downloads[dataTask] != nil }

  mutating func insert(_ dataTask: TaskID, as download: TaskID) {
    downloads[dataTask] = download
    dataTasks[download] = dataTask
  }

  /// The download has ended. Returns the data task that it was.
  mutating func remove(_ download: TaskID) -> TaskID? {
    guard let dataTask = dataTasks.removeValue(forKey: download) else { return nil }
    downloads[dataTask] = nil
    return dataTask
  }

  /// The task that a fact is about: an engine that ends a data task may not know yet that it continues as a download.
  func subject(of fact: TransferFact) -> TaskID {
    guard case .ended(let task, _) = fact else { return fact.task }
    return downloads[task] ?? task
  }
}

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

  /// Whom news are about: an engine that ends a data task may not have heard yet that it goes on as a download.
  func subject(of news: News) -> TaskID {
    guard case .fact(.ended(let task, _)) = news else { return news.task }
    return downloads[task] ?? task
  }
}

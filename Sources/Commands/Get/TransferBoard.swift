/// The state of all files of one `ferry get`. The board receives reports and results, and returns actions for its shell.
struct TransferBoard: Sendable {
  enum Action: Sendable, Equatable {
    /// Create tasks for these items, in one batch.
    case create([Int])
    case resume(task: String)
    /// Create a task that continues a failed one of an earlier command.
    case retry(item: Int, task: String)
    /// Copy the body of an item's task into its file.
    case fetch(item: Int, task: String, TransferItem.Body)
    /// Show the state of an item, which has just changed.
    case show(item: Int)
  }

  /// The most files that are copied from the service at the same time.
  static let fetches = 4
  /// The most tasks that one batch creates.
  static let batch = 256

  private(set) var items: TransferItems
  private var itemsByKey: [String: Int] = [:]
  private var itemsByTask: [String: Int] = [:]
  /// The most tasks that have been created and have not ended.
  private let window: Int
  private let tries: Int?
  private var nextPlanned = 0
  private var inService: Set<Int> = []
  private var isCreating = false
  private var waitingForFetch: [Int] = []
  private var fetching = 0
  private(set) var endedCount = 0
  private(set) var firstFailure: TransferItem.Failure?
  private(set) var total = RateMeter()
  private var hasBegun = false

  /// - Parameters:
  ///   - window: the most tasks that the service has at the same time.
  ///   - tries: the most attempts of a task, for displays.
  init(_ items: [TransferItem], window: Int, tries: Int?) {
    self.items = TransferItems(items)
    self.window = window
    self.tries = tries
    for (index, item) in items.enumerated() { itemsByKey[item.key] = index }
  }

  var isDone: Bool { endedCount == items.count }
  /// Whether no file is finished, and no failed download has bytes from which it could continue.
  var hasNothingToContinue: Bool {
    items.allSatisfy { item in
      guard case .failed(let failure) = item.state else { return false }
      return item.received == 0 || [.status, .usage, .refused].contains(failure.cause)
    }
  }
  /// The items whose bars are shown.
  var activeItems: [TransferItem] {
    inService.sorted().map { items[$0] }.filter {
      switch $0.state {
      case .transferring, .waiting, .fetching: true
      default: false
      }
    }
  }
  var tasks: [String] { inService.compactMap { items[$0].task } }

  // MARK: Inputs

  /// Skips a file that an earlier command finished.
  mutating func skip(key: String, _ file: TransferItem.PlacedFile) -> [Action] {
    guard let index = itemsByKey[key], !items[index].isEnded else { return [] }
    items[index].received = file.size
    if let failure = items[index].mismatch(file.sha256) {
      let hint = "; delete \(PlainText.safe(file.path)) of an earlier command to download it again"
      return end(index, .failed(.init(cause: failure.cause, message: failure.message + hint)))
    }
    return end(index, .skipped(file))
  }

  /// Adopts the tasks of earlier commands, the newest first, and begins.
  mutating func begin(_ known: [[TransferReport]]) -> [Action] {
    var actions: [Action] = []
    for reports in known {
      guard case .created(let task, let key)? = reports.first, let index = itemsByKey[key],
        items[index].task == nil, !items[index].isEnded
      else { continue }
      adopt(task, index)
      for report in reports.dropFirst() { actions += apply(report, isEarlier: true) }
    }
    hasBegun = true
    return actions + create()
  }

  /// Compares with the tasks as they are, after events were lost.
  mutating func refresh(_ known: [[TransferReport]]) -> [Action] {
    known.flatMap { $0.dropFirst() }.flatMap { apply($0, isEarlier: false) }
  }

  mutating func receive(_ reports: [TransferReport]) -> [Action] {
    reports.flatMap { apply($0, isEarlier: false) }
  }

  /// Records the reply to a batch: a task or a failure for each item.
  mutating func didCreate(_ results: [(item: Int, result: Result<String, TransferItem.Failure>)]) -> [Action]
  {
    isCreating = false
    var actions: [Action] = []
    for (index, result) in results {
      switch result {
      case .success(let task): adopt(task, index)
      case .failure(let failure): actions += end(index, .failed(failure))
      }
    }
    return actions + create()
  }

  /// Records that a retried task is another task now.
  mutating func didRetry(item index: Int, _ result: Result<String, TransferItem.Failure>) -> [Action] {
    switch result {
    case .success(let task):
      adopt(task, index)
      return []
    case .failure(let failure): return end(index, .failed(failure))
    }
  }

  mutating func didFetch(item index: Int, _ result: Result<TransferItem.PlacedFile, TransferItem.Failure>)
    -> [Action]
  {
    fetching -= 1
    switch result {
    case .success(let file): return end(index, .done(file))
    case .failure(let failure): return end(index, .failed(failure))
    }
  }

  /// Updates the rates.
  mutating func tick(at time: Double) {
    total.record(items.receivedBytes, at: time)
    for index in inService { items[index].rate.record(items[index].received, at: time) }
  }

  // MARK: Steps

  private mutating func adopt(_ task: String, _ index: Int) {
    if items[index].isEnded { return }
    if let earlier = items[index].task, earlier != task { itemsByTask[earlier] = nil }
    let isNew = items[index].task != task
    items[index].task = task
    itemsByTask[task] = index
    inService.insert(index)
    if isNew { items[index].state = .queued }
  }

  private mutating func apply(_ report: TransferReport, isEarlier: Bool) -> [Action] {
    if case .created(let task, let key) = report {
      guard let index = itemsByKey[key], items[index].state == .creating || items[index].task == nil else {
        return []
      }
      adopt(task, index)
      return []
    }
    guard let index = itemsByTask[report.task], !items[index].isEnded, items[index].state != .fetching else {
      return []
    }
    switch report {
    case .created: return []
    case .queued: items[index].state = .queued
    case .transferring: items[index].state = .transferring
    case .suspended(let task):
      if isEarlier { return [.resume(task: task)] }
      guard items[index].state == .transferring else { break }
      items[index].state = .waiting(
        .init(retry: nil, reason: "is suspended; `ferry resume` continues it", until: nil))
      return [.show(item: index)]
    case .waiting(_, let reason, let until, let isRetry):
      if isRetry { items[index].retries += 1 }
      items[index].state = .waiting(
        .init(retry: isRetry ? retryText(index) : nil, reason: reason, until: until))
      return [.show(item: index)]
    case .progress(_, let received, let expected):
      items[index].received = received
      items[index].expected = expected ?? items[index].expected
      if items[index].state == .queued { items[index].state = .transferring }
    case .body(_, let body):
      items[index].body = body
      (items[index].received, items[index].expected) = (body.size, body.size)
    case .ended(let task, nil):
      if let body = items[index].body, let failure = items[index].mismatch(body.sha256) {
        // The task of an earlier command did not know the digest, so another transfer may bring the right body.
        guard isEarlier else { return end(index, .failed(failure)) }
        dropTask(index, task)
        return []
      }
      guard items[index].body != nil else {
        // The body has expired, or a client has deleted it.
        dropTask(index, task)
        return isEarlier
          ? [] : end(index, .failed(.init(cause: .network, message: "the service has no body")))
      }
      waitingForFetch.append(index)
      return fetch()
    case .ended(let task, let failure?):
      guard isEarlier else { return end(index, .failed(failure)) }
      if items[index].hasOtherOptions {
        dropTask(index, task)
        return []
      }
      items[index].state = .creating
      return [.retry(item: index, task: task)]
    }
    return []
  }

  private func retryText(_ index: Int) -> String {
    "retry \(items[index].retries)" + (tries.map { "/\($0)" } ?? "")
  }

  /// Leaves a task to the service, so that the item gets another.
  private mutating func dropTask(_ index: Int, _ task: String) {
    itemsByTask[task] = nil
    items[index].task = nil
    items[index].body = nil
    items[index].state = .planned
    inService.remove(index)
  }

  private mutating func fetch() -> [Action] {
    var actions: [Action] = []
    while fetching < Self.fetches, !waitingForFetch.isEmpty {
      let index = waitingForFetch.removeFirst()
      guard let task = items[index].task, let body = items[index].body else { continue }
      items[index].state = .fetching
      fetching += 1
      actions.append(.fetch(item: index, task: task, body))
    }
    return actions
  }

  private mutating func end(_ index: Int, _ state: TransferItem.State) -> [Action] {
    items[index].state = state
    items[index].expected = items[index].expected ?? items[index].received
    inService.remove(index)
    if let task = items[index].task { itemsByTask[task] = nil }
    endedCount += 1
    if case .failed(let failure) = state, firstFailure == nil { firstFailure = failure }
    return [.show(item: index)] + fetch() + (hasBegun ? create() : [])
  }

  /// Creates tasks while the window has room. Results that arrive meanwhile make the next batch larger.
  private mutating func create() -> [Action] {
    guard !isCreating else { return [] }
    var batch: [Int] = []
    while batch.count < Self.batch, inService.count + batch.count < window, nextPlanned < items.count {
      if items[nextPlanned].state == .planned, items[nextPlanned].task == nil {
        items[nextPlanned].state = .creating
        batch.append(nextPlanned)
      }
      nextPlanned += 1
    }
    guard !batch.isEmpty else { return [] }
    isCreating = true
    return [.create(batch)]
  }
}

extension TransferReport {
  var task: String {
    switch self {
    case .created(let task, _), .queued(let task), .transferring(let task), .suspended(let task),
      .waiting(let task, _, _, _), .progress(let task, _, _), .body(let task, _), .ended(let task, _):
      task
    }
  }
}

internal import FoundationEssentials
internal import GRDB
internal import Records
internal import TransferModel

extension Query {
  /// Returns the query that finds the tasks by the index with the fewest entries.
  init(listing query: TaskQuery) {
    let isNewest = query.order == .newest
    if query.filter.group != nil {
      self = isNewest ? .newestOfGroup : .tasksOfGroup
    } else if !query.filter.labels.isEmpty {
      self = isNewest ? .newestOfLabel : .tasksOfLabel
    } else if case .session = query.scope {
      self = isNewest ? .newestOfSession : .tasksOfSession
    } else if query.filter.isOfUnfinished {
      self = isNewest ? .newestUnfinished : .unfinishedTasksOfTenant
    } else if [.failed, .cancelled].contains(query.filter.outcome) {
      self = isNewest ? .newestUnsuccessful : .unsuccessfulTasks
    } else {
      self = isNewest ? .newestOfTenant : .tasksOfTenant
    }
  }
}

extension TaskFilter {
  fileprivate var isOfUnfinished: Bool { isNeverResumed || state.map { $0 != .completed } ?? false }
}

extension TaskQuery {
  /// The parameters of `TaskListText`.
  func arguments(_ box: SecretBox) -> StatementArguments {
    let range = idRange
    let label = filter.labels.first.map { Data(box.names.name($0, of: tenant)) }
    let ending = filter.id.flatMap { $0.isBeginning ? nil : $0.digits }
    var (owner, name): (Data?, String?)
    switch scope {
    case .session(let session): owner = Data(session.bytes)
    case .tenant(let tenant): name = tenant.name
    }
    return [
      "low": Data(range.low.bytes), "high": Data(range.high.bytes), "tenant": name, "owner": owner,
      "kind": filter.kind?.rawValue, "state": filter.state?.rawValue, "result": filter.outcome?.rawValue,
      "batch": filter.group.map { Data(box.names.name(group: $0, of: tenant)) }, "label": label,
      "untouched": filter.isNeverResumed ? 1 : nil, "since": filter.since?.microseconds, "ending": ending,
    ]
  }

  /// The ids that may be on the page, both ends included.
  private var idRange: (low: TaskID, high: TaskID) {
    var range = order.range(of: filter.id?.range ?? TaskID.all, after: after, since: filter.since)
    if let last { range.high = min(range.high, last) }
    return range
  }
}

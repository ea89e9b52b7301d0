internal import JSON
internal import Limits
internal import TransferModel

/// The filters of tasks, as query parameters of a list or as JSON of a request for many tasks.
enum TaskFilterPayload {
  /// The query parameters.
  static let names = [
    "kind", "state", "outcome", "group", "label", "url", "urlPrefix", "description", "neverResumed", "since",
    "id",
  ]
  /// Those of the query parameters that select events as well.
  static let tagNames = ["group", "label"]
  /// Those that may be given several times.
  static let repeatableNames: Set<String> = ["label"]
  private static let part =
    "must be tsk_ with the first digits of a task's id, or its last digits, \(ShortTaskID.fewestDigits) or more"

  /// Reads the query parameters.
  static func filter(_ context: RequestContext) throws(Problem) -> TaskFilter {
    var filter = TaskFilter()
    filter.kind = try context.choice("kind")
    filter.state = try context.choice("state")
    filter.outcome = try context.choice("outcome")
    if let tags = try tags(context) { (filter.group, filter.labels) = (tags.group, tags.labels) }
    filter.url = try text("url", context, upTo: Limits.searchBytes).map { Glob($0) }
    filter.urlPrefix = try text("urlPrefix", context, upTo: Limits.searchBytes)
    filter.description = try text("description", context, upTo: Limits.searchBytes)
    filter.isNeverResumed = try context.flag("neverResumed") ?? false
    filter.since = try context.time("since")
    if let text = context.value("id") {
      guard let id = ShortTaskID(text) else { throw RequestContext.invalid("id", "\(part), not '\(text)'") }
      filter.id = id
    }
    return filter
  }

  /// Reads the group and the labels; `nil` if none are given.
  static func tags(_ context: RequestContext) throws(Problem) -> TaskTags? {
    let tags = TaskTags(
      group: try text("group", context, upTo: Limits.groupBytes), labels: try labels(context))
    return tags.isEmpty ? nil : tags
  }

  private static func text(
    _ name: String, _ context: RequestContext, upTo limit: Limit
  ) throws(Problem) -> String? {
    guard let text = context.value(name) else { return nil }
    guard (1...limit.value).contains(text.utf8.count) else {
      throw RequestContext.invalid(
        name, "must have 1 to \(limit.value) bytes, not \(text.utf8.count); leave it out to see all tasks")
    }
    return text
  }

  private static func labels(_ context: RequestContext) throws(Problem) -> [TaskLabel] {
    var labels: [TaskLabel] = []
    for item in context.query where item.name == "label" {
      guard let label = TaskLabel(item.value), !label.key.isEmpty else {
        throw RequestContext.invalid(
          "label", "must be a key and a value, like customer:17, not '\(item.value)'")
      }
      labels.append(label)
    }
    guard labels.count <= Limits.labels.value else {
      throw RequestContext.invalid(
        "label", "may be given at most \(Limits.labels.value) times, not \(labels.count)")
    }
    return labels
  }

  /// Reads the members of a request for many tasks.
  static func filter(_ reader: inout ObjectReader) -> TaskFilter {
    var filter = TaskFilter()
    filter.kind = reader.choice("kind")
    filter.state = reader.choice("state")
    filter.outcome = reader.choice("outcome")
    filter.group = text("group", &reader, upTo: Limits.groupBytes)
    filter.labels = TaskLabel.read(&reader, "labels")
    filter.url = text("url", &reader, upTo: Limits.searchBytes).map { Glob($0) }
    filter.urlPrefix = text("urlPrefix", &reader, upTo: Limits.searchBytes)
    filter.description = text("description", &reader, upTo: Limits.searchBytes)
    filter.isNeverResumed = reader.bool("neverResumed") ?? false
    filter.since = reader.timestamp("since")
    if let text = reader.string("id") {
      filter.id = ShortTaskID(text)
      if filter.id == nil { reader.reject("id", "\(part), not '\(text)'") }
    }
    return filter
  }

  private static func text(_ name: String, _ reader: inout ObjectReader, upTo limit: Limit) -> String? {
    let text = reader.string(name, upTo: limit.value)
    if text?.isEmpty == true { reader.reject(name, "must have at least one byte; leave it out") }
    return text
  }
}

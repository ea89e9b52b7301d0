package import JSON
internal import Limits

/// The optional properties of a task, which few tasks set (URLSessionTask). Add new members of a task here: this file declares, reads,
/// shows and measures them, and `Records/Tables/TaskTables` stores them.
package struct TaskPreferences: Sendable, Equatable {
  /// The client's estimate of the bytes to send and to receive; -1 if unknown.
  package var countOfBytesClientExpectsToSend: Int64 = -1
  package var countOfBytesClientExpectsToReceive: Int64 = -1
  /// If true, data is delivered as it arrives; if false, once at the end. Always false for downloads.
  package var prefersIncrementalDelivery = true
  package var delegate: TaskDelegate?
  /// The name of the task's group. A group belongs to a tenant and may have tasks of several sessions.
  package var group: String?
  /// The client's labels, sorted by their keys.
  package var labels: [TaskLabel] = []
  package var requirements = ResponseRequirements()
  /// Replaces the session's rules for retries.
  package var retry: RetryConfiguration?
  /// The failed or cancelled task whose request this one repeats.
  package var retryOf: TaskID?
  /// The file that the download becomes.
  package var destination: Destination?

  package init(of kind: TaskKind = .data) { prefersIncrementalDelivery = kind != .download }

  /// Bytes of the texts that the client chose, for limits on memory.
  package var textSize: Int {
    let labels = labels.reduce(0) { $0 + $1.key.utf8.count + $1.value.utf8.count }
    return (delegate?.webhook?.textSize ?? 0) + (group?.utf8.count ?? 0) + labels
      + (destination?.file.utf8.count ?? 0)
  }
}

extension TaskPreferences {
  /// Reads the members of the payload that creates a task.
  package init(validating reader: inout ObjectReader, of kind: TaskKind) {
    reader.allowNull("delegate", "group", "labels", "retry", "destination")
    self.init(of: kind)
    countOfBytesClientExpectsToSend = reader.guess("countOfBytesClientExpectsToSend") ?? -1
    countOfBytesClientExpectsToReceive = reader.guess("countOfBytesClientExpectsToReceive") ?? -1
    if let isPreferred = reader.bool("prefersIncrementalDelivery") {
      prefersIncrementalDelivery = isPreferred
    }
    if kind == .download, prefersIncrementalDelivery {
      reader.reject(
        "prefersIncrementalDelivery", "must be false for a download, which is delivered when it is complete")
    }
    requirements = ResponseRequirements(validating: &reader)
    if var fields = reader.object("retry") { retry = RetryConfiguration(validating: &fields) }
    if var fields = reader.object("delegate") { delegate = TaskDelegate(validating: &fields) }
    group = TaskGroupName.read(&reader, "group")
    labels = TaskLabel.read(&reader, "labels")
    if var fields = reader.object("destination") {
      destination = Destination(validating: &fields)
      if kind != .download {
        reader.reject(
          "destination", "must be left out unless kind is download, because other tasks have no file")
      }
    }
  }

  /// Writes the members that clients see.
  package func encodeMembers(into writer: inout JSONWriter) {
    writer.field("countOfBytesClientExpectsToSend", countOfBytesClientExpectsToSend)
    writer.field("countOfBytesClientExpectsToReceive", countOfBytesClientExpectsToReceive)
    writer.field("prefersIncrementalDelivery", prefersIncrementalDelivery)
    writer.field("delegate", delegate)
    requirements.encodeMembers(into: &writer)
    if let retry { writer.field("retry", Optional(retry)) }
    if let retryOf { writer.field("retryOf", retryOf) }
    encodeGroup(into: &writer)
  }

  /// Writes the group and the labels, which are absent if the task has none.
  package func encodeGroup(into writer: inout JSONWriter) {
    if let group { writer.field("group", group) }
    if !labels.isEmpty {
      writer.objectField("labels") { writer in
        for label in labels {
          writer.key(label.key)
          writer.value(label.value)
        }
      }
    }
  }
}

extension ObjectReader {
  /// Reads a client's estimate of a number of bytes; -1 if unknown.
  package mutating func guess(_ name: String) -> Int64? {
    integer(name, in: -1...Int(Limits.streamBytes.value)).map { Int64($0) }
  }
}

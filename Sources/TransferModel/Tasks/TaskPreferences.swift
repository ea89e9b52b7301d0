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

  package init(of kind: TaskKind = .data) { prefersIncrementalDelivery = kind != .download }

  /// Bytes of the texts that the client chose, for limits on memory.
  package var textSize: Int { delegate?.webhook?.textSize ?? 0 }
}

extension TaskPreferences {
  /// Reads the members of the payload that creates a task.
  package init(validating reader: inout ObjectReader, of kind: TaskKind) {
    reader.allowNull("delegate")
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
    if var fields = reader.object("delegate") { delegate = TaskDelegate(validating: &fields) }
  }

  /// Writes the members that clients see.
  package func encodeMembers(into writer: inout JSONWriter) {
    writer.field("countOfBytesClientExpectsToSend", countOfBytesClientExpectsToSend)
    writer.field("countOfBytesClientExpectsToReceive", countOfBytesClientExpectsToReceive)
    writer.field("prefersIncrementalDelivery", prefersIncrementalDelivery)
    writer.field("delegate", delegate)
  }
}

extension ObjectReader {
  /// Reads a client's estimate of a number of bytes; -1 if unknown.
  package mutating func guess(_ name: String) -> Int64? {
    integer(name, in: -1...Int(Limits.streamBytes.value)).map { Int64($0) }
  }
}

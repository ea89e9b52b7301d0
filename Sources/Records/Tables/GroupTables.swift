package import TransferModel

extension TaskTags: Record {
  package static func members(_ coder: inout RecordCoder, _ value: Self?) throws(RecordFault) -> Self {
    TaskTags(
      group: try coder.optional("group", value?.group),
      labels: try coder.optional("labels", value.flatMap { $0.labels.isEmpty ? nil : $0.labels }) ?? [])
  }
}

extension GroupCounts: Record {
  package static func members(_ coder: inout RecordCoder, _ value: Self?) throws(RecordFault) -> Self {
    var counts = value ?? GroupCounts()
    counts.suspended = try coder.member("suspended", value?.suspended, else: 0)
    counts.running = try coder.member("running", value?.running, else: 0)
    counts.canceling = try coder.member("canceling", value?.canceling, else: 0)
    counts.succeeded = try coder.member("succeeded", value?.succeeded, else: 0)
    counts.failed = try coder.member("failed", value?.failed, else: 0)
    counts.cancelled = try coder.member("cancelled", value?.cancelled, else: 0)
    counts.countOfBytesSent = try coder.member("countOfBytesSent", value?.countOfBytesSent, else: 0)
    counts.countOfBytesReceived = try coder.member(
      "countOfBytesReceived", value?.countOfBytesReceived, else: 0)
    return counts
  }
}

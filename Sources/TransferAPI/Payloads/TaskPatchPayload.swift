internal import JSON
internal import Limits
internal import TransferCore
internal import TransferModel
internal import TransferService

/// A merge patch (RFC 7396) of a task's mutable members.
struct TaskPatchPayload {
  let patch: TaskPatch
  private(set) var request: RequestPatch?

  init(_ value: JSONValue) throws(Problem) {
    let violations = Violations()
    var reader = ObjectReader(value, at: "", violations)
    patch = TaskPatch(&reader)
    if var fields = reader.object("request") { request = RequestPatch(validating: &fields) }
    reader.finish(explaining: UnsupportedNames.change)
    guard violations.isEmpty else { throw Problem(violations) }
  }
}

extension TaskPatch {
  fileprivate init(_ reader: inout ObjectReader) {
    self.init()
    if reader.isNull("priority") { priority = TaskSpecification.defaultPriority }
    priority = reader.number("priority", in: 0...1) ?? priority
    if reader.isNull("description") { description = .some(nil) }
    if reader.isNull("earliestBeginDate") { earliestBeginDate = .some(nil) }
    if reader.isNull("maximumBytesPerSecond") { maximumBytesPerSecond = .some(nil) }
    if let text = reader.string("description", upTo: Limits.descriptionBytes.value) {
      description = .some(text)
    }
    if let date = reader.timestamp("earliestBeginDate") { earliestBeginDate = .some(date) }
    if let rate = reader.integer("maximumBytesPerSecond", in: 1...1_000_000_000_000) {
      maximumBytesPerSecond = .some(rate)
    }
    if reader.isNull("countOfBytesClientExpectsToSend") { countOfBytesClientExpectsToSend = -1 }
    if reader.isNull("countOfBytesClientExpectsToReceive") { countOfBytesClientExpectsToReceive = -1 }
    countOfBytesClientExpectsToSend =
      reader.guess("countOfBytesClientExpectsToSend") ?? countOfBytesClientExpectsToSend
    countOfBytesClientExpectsToReceive =
      reader.guess("countOfBytesClientExpectsToReceive") ?? countOfBytesClientExpectsToReceive
  }
}

extension ObjectReader {
  /// Reads an RFC 3339 date-time. 1970-01-01T00:00:00Z becomes one microsecond later, because stored zeros mean no date.
  mutating func timestamp(_ name: String) -> Timestamp? {
    guard let text = string(name) else { return nil }
    guard let time = Timestamp(text) else {
      reject(name, "must be an RFC 3339 date-time, like 2026-01-31T12:00:00Z, not '\(text)'")
      return nil
    }
    return time.microseconds == 0 ? Timestamp(microseconds: 1) : time
  }
}

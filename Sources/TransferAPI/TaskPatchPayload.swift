internal import JSON
internal import TransferModel
internal import TransferService

extension TaskPatch {
  /// Reads a merge patch (RFC 7396) of the members that may change.
  init(_ value: JSONValue) throws(Problem) {
    self.init()
    let violations = Violations()
    var reader = ObjectReader(value, at: "", violations)
    func isNull(_ name: String) -> Bool { value[name]?.isNull ?? false }
    priority = reader.number("priority", in: 0...1)
    if isNull("priority") { priority = TaskSpecification.defaultPriority }
    if let text = reader.string("description") { description = .some(text) }
    if isNull("description") { description = .some(nil) }
    if let date = reader.timestamp("earliestBeginDate") { earliestBeginDate = .some(date) }
    if isNull("earliestBeginDate") { earliestBeginDate = .some(nil) }
    if let rate = reader.integer("maximumBytesPerSecond", in: 1...1_000_000_000_000) {
      maximumBytesPerSecond = .some(rate)
    }
    if isNull("maximumBytesPerSecond") { maximumBytesPerSecond = .some(nil) }
    reader.finish()
    guard violations.all.isEmpty else { throw Problem(.invalidRequest, violations: violations.all) }
  }
}

extension ObjectReader {
  /// An RFC 3339 date-time.
  mutating func timestamp(_ name: String) -> Timestamp? {
    guard let text = string(name) else { return nil }
    guard let time = Timestamp(text) else {
      reject(name, "must be an RFC 3339 date-time, like 2026-01-31T12:00:00Z")
      return nil
    }
    return time
  }
}

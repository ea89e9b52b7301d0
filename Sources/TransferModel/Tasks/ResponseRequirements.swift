package import JSON

/// The requirements of a client for a task's response. A task whose response does not meet them fails.
package struct ResponseRequirements: Sendable, Equatable {
  /// Whether a status of 400 or more is an error.
  package var failsOnStatus = false
  /// Also makes every status other than 2xx an error.
  package var expected: ExpectedBody?

  package init() {}

  /// Reads the members of the payload that creates a task.
  package init(validating reader: inout ObjectReader) {
    reader.allowNull("expected")
    failsOnStatus = reader.bool("failOnStatus") ?? false
    if var fields = reader.object("expected") { expected = ExpectedBody(validating: &fields) }
  }

  /// Writes the members that clients see: those that differ from their defaults.
  package func encodeMembers(into writer: inout JSONWriter) {
    if failsOnStatus { writer.field("failOnStatus", true) }
    if let expected { writer.field("expected", Optional(expected)) }
  }

  /// Returns the error of a response with this status; `nil` if the status is accepted.
  package func statusError(_ status: Int, url: String) -> TransferError? {
    let isSuccess = (200..<300).contains(status)
    guard expected != nil ? !isSuccess : failsOnStatus && status >= 400 else { return nil }
    let cause = failsOnStatus && status >= 400 ? "failOnStatus" : "expected"
    var error = TransferError(
      .httpStatus,
      "the origin responded with status \(status); correct the request, or leave out \(cause) to accept it",
      failingURL: url)
    error.status = status
    return error
  }
}

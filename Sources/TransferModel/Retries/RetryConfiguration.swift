package import JSON
internal import Limits

/// The rules for attempts that follow a failed one.
package struct RetryConfiguration: Sendable, Equatable {
  /// The limit of attempts; `nil` if only `timeoutIntervalForResource` limits them.
  package var maximumAttempts: Int?
  /// Seconds before the second attempt. The delay doubles for each further one.
  package var backoff = 1.0
  /// The statuses of responses that fail an attempt; `nil` for 429 (RFC 6585 §4) and 503 (RFC 9110 §15.6.4).
  package var statuses: [Int]?

  package init() {}

  package static let defaultStatuses = [429, 503]

  package func retries(status: Int) -> Bool { (statuses ?? Self.defaultStatuses).contains(status) }

  /// The same form for all configurations with the same meaning.
  var canonical: RetryConfiguration {
    var configuration = self
    configuration.statuses = Set(statuses ?? Self.defaultStatuses).sorted()
    return configuration
  }
}

extension RetryConfiguration: JSONEncodable {
  package func encode(into writer: inout JSONWriter) {
    writer.object { writer in
      writer.field("maximumAttempts", maximumAttempts)
      writer.field("backoff", backoff)
      if let statuses {
        writer.arrayField("statuses", statuses) { $0.value(Int64($1)) }
      } else {
        writer.key("statuses")
        writer.null()
      }
    }
  }
}

extension RetryConfiguration {
  package init(validating reader: inout ObjectReader) {
    self.init()
    reader.allowNull("maximumAttempts", "statuses")
    maximumAttempts = reader.integer("maximumAttempts", in: 1...1_000_000)
    backoff = reader.number("backoff", in: 0.001...86_400) ?? backoff
    readStatuses(&reader)
    reader.finish()
  }

  private mutating func readStatuses(_ reader: inout ObjectReader) {
    guard let value = reader.value("statuses") else { return }
    guard let elements = value.elements else {
      return reader.reject("statuses", "must be an array of statuses, not \(value.kind)")
    }
    guard elements.count <= Limits.retryStatuses.value else {
      return reader.exceed(
        "statuses", "must have at most \(Limits.retryStatuses.value) elements, not \(elements.count)")
    }
    let found = elements.map { $0.wholeNumber.flatMap { (400...599).contains($0) ? Int($0) : nil } }
    for (index, status) in found.enumerated() where status == nil {
      reader.reject("statuses", element: index, "must be a whole number from 400 to 599")
    }
    statuses = found.compactMap(\.self)
  }
}

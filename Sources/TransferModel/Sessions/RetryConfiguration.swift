package import JSON

/// The limits of the retries of a background session.
package struct RetryConfiguration: Sendable, Equatable {
  /// The limit of attempts; `nil` if only `timeoutIntervalForResource` limits them.
  package var maximumAttempts: Int?
  /// Seconds before the second attempt. The delay doubles for each further one.
  package var backoff = 1.0

  package init() {}
}

extension RetryConfiguration: JSONEncodable {
  package func encode(into writer: inout JSONWriter) {
    writer.object { writer in
      writer.field("maximumAttempts", maximumAttempts)
      writer.field("backoff", backoff)
    }
  }
}

extension RetryConfiguration {
  init(validating reader: inout ObjectReader) {
    self.init()
    reader.allowNull("maximumAttempts")
    maximumAttempts = reader.integer("maximumAttempts", in: 1...1_000_000)
    backoff = reader.number("backoff", in: 0.001...86_400) ?? backoff
    reader.finish()
  }
}

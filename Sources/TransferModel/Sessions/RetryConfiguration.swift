package import JSON

/// How often a background session tries again.
package struct RetryConfiguration: Sendable, Equatable {
  /// Attempts in all; nil: as many as `timeoutIntervalForResource` leaves time for.
  package var maximumAttempts: Int?
  /// Seconds before the second attempt; each further one waits twice as long.
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

package import JSON

/// One POST of a message to its destination.
package struct DeliveryAttempt: Sendable, Equatable {
  package let time: Timestamp
  /// The status of the response; `nil` if there was none.
  package var status: Int?
  /// Seconds from the start to the end of the attempt.
  package var latency: Double?
  /// The first bytes of the response's body.
  package var reply: String?
  /// The reason for the failure; `nil` after a response.
  package var error: String?

  package init(
    at time: Timestamp, status: Int? = nil, latency: Double? = nil, reply: String? = nil, error: String? = nil
  ) {
    self.time = time
    self.status = status
    self.latency = latency
    self.reply = reply
    self.error = error
  }
}

extension DeliveryAttempt: JSONEncodable {
  package func encode(into writer: inout JSONWriter) {
    writer.object { writer in
      writer.field("time", time)
      writer.field("status", status)
      writer.field("latency", latency)
      writer.field("reply", reply)
      writer.field("error", error)
    }
  }
}

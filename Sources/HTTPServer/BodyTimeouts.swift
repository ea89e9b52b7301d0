internal import Limits

/// The limits on how slowly a client may send a request's body while the server is ready to receive.
package struct BodyTimeouts: Sendable {
  /// The longest pause between two bytes.
  package var silence = Duration.seconds(Limits.bodySilenceSeconds.value)
  /// Minimum bytes in each `period`; `nil` for no minimum.
  package var bytesInPeriod: Int? = Limits.bodyBytesInPeriod.value
  package var period = Duration.seconds(Limits.bodyPeriodSeconds.value)
}

internal import Limits

/// How slowly a client may send a request's body while the server is ready to take it.
package struct BodyPatience: Sendable {
  /// For how long no byte may come.
  package var silence = Duration.seconds(Limits.bodySilenceSeconds.value)
  /// Bytes that must come in each `period`; nil: any number.
  package var bytesInPeriod: Int? = Limits.bodyBytesInPeriod.value
  package var period = Duration.seconds(Limits.bodyPeriodSeconds.value)
}

/// One TCP connection of a daemon, from accept to close. On the loop only.
final class ServerConnection {
  let descriptor: Int32
  /// The target of the request whose headers are being read.
  var target = ""
  /// When the next request's head must be whole; nil while one is answered.
  var headDeadline: ContinuousClock.Instant?

  init(descriptor: Int32, headDeadline: ContinuousClock.Instant) {
    self.descriptor = descriptor
    self.headDeadline = headDeadline
  }
}

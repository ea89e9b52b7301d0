/// Why the server refuses a request by itself, before or beside its handler.
package enum RequestFault: Error, Sendable, Equatable {
  /// It is not HTTP/1.1, or its framing is in doubt (RFC 9112 §6.3, request smuggling).
  case malformed(String)
  /// Bytes of request line and fields, or fields.
  case headTooLarge(String)
  /// Bytes of the request's target.
  case targetTooLong(limit: Int)
  /// Bytes went on for so long behind a reply that waited for the request's end.
  case bodyTooLong(limit: Int)
  /// The head was not whole in time.
  case timedOut(seconds: Int)
  /// No byte of the body arrived for `seconds`.
  case bodyStalled(seconds: Int)
  /// Fewer than `bytes` of the body arrived within `seconds`.
  case bodyTooSlow(bytes: Int, seconds: Int)
  /// The reply's head is larger than what the server sends.
  case replyTooLarge
  /// Clients are reading so many large replies that there is no room for another one.
  case tooManyReplies
}

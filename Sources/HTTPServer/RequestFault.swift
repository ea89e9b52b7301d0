/// The reason why the server itself refuses a request.
package enum RequestFault: Error, Sendable, Equatable {
  /// The request is not valid HTTP/1.1, or its framing is ambiguous (RFC 9112 §6.3, request smuggling).
  case malformed(String)
  /// The request line and the fields have too many bytes, or there are too many fields.
  case headTooLarge(String)
  /// The request's target has more than `limit` bytes.
  case targetTooLong(limit: Int)
  /// The body has more than `limit` further bytes although a reply is ready.
  case bodyTooLong(limit: Int)
  /// The head was incomplete after `seconds`.
  case timedOut(seconds: Int)
  /// No byte of the body arrived for `seconds`.
  case bodyStalled(seconds: Int)
  /// Fewer than `bytes` of the body arrived within `seconds`.
  case bodyTooSlow(bytes: Int, seconds: Int)
  /// The reply's head is larger than the server can send.
  case replyTooLarge
  /// Clients are reading so many large replies that there is no room for another one.
  case tooManyReplies
}

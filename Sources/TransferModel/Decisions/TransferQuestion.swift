/// What a transfer asks before it goes on.
package enum TransferQuestion: Sendable {
  /// urlSession(_:task:willPerformHTTPRedirection:newRequest:completionHandler:)
  case redirect(TransferResponse, proposed: TransferRequest)
  /// urlSession(_:didReceive:completionHandler:), urlSession(_:task:didReceive:completionHandler:), as the type says.
  case challenge(AuthenticationChallenge, EventType)
  /// urlSession(_:dataTask:didReceive:completionHandler:)
  case response(TransferResponse, BodyReference)
  /// urlSession(_:dataTask:willCacheResponse:completionHandler:)
  case caching(TransferResponse, size: Int64)
  /// urlSession(_:task:needNewBodyStream:)
  case bodyStream
}

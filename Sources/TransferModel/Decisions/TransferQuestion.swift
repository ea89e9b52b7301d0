/// A decision that a transfer requests before it continues.
package enum TransferQuestion: Sendable {
  /// urlSession(_:task:willPerformHTTPRedirection:newRequest:completionHandler:)
  case redirect(TransferResponse, proposed: TransferRequest)
  /// urlSession(_:didReceive:completionHandler:) or urlSession(_:task:didReceive:completionHandler:), depending on the event type.
  case challenge(AuthenticationChallenge, EventType)
  /// urlSession(_:dataTask:didReceive:completionHandler:)
  case response(TransferResponse, BodyReference)
  /// urlSession(_:dataTask:willCacheResponse:completionHandler:)
  case caching(TransferResponse, size: Int64)
  /// urlSession(_:task:needNewBodyStream:)
  case bodyStream
}

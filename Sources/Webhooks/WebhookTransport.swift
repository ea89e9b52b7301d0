internal import Curl

/// What a sender hands its requests to. On the loop's thread only.
protocol WebhookTransport: AnyObject {
  var multi: MultiHandle { get }
  var onCompletion: ((MultiHandle.Completion) -> Void)? { get set }
  func add(_ easy: EasyHandle) throws(CurlError)
  func remove(_ easy: EasyHandle)
  func close()
  /// Closes once the requests under way have ended.
  func closeWhenEmpty()
  var isClosed: Bool { get }
}

extension CurlTransport: WebhookTransport {}

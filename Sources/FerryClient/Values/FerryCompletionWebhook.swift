public import FoundationEssentials

/// The receiver of one message when a task has ended. Ferry's own addition.
public struct FerryCompletionWebhook: Sendable, Hashable {
  /// The URL that receives the message.
  public var url: URL
  /// The secret that signs the message: `whsec_` and base64. With `nil`, the service signs with its own.
  public var secret: String?
  /// Creates a receiver.
  public init(url: URL, secret: String? = nil) {
    self.url = url
    self.secret = secret
  }
}

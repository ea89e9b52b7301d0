internal import Crypto
public import FoundationEssentials
internal import JSON

/// A receiver of webhook messages. It verifies them by Standard Webhooks 1.0.0.
public struct FerryWebhook: Sendable {
  /// A key that is neither a secret nor a public key.
  public struct InvalidKey: Error, Sendable, CustomStringConvertible {
    /// The fault and the remedy, without the key.
    public let description: String
  }

  /// A message that the service did not send, or that is too old.
  public struct InvalidMessage: Error, Sendable, CustomStringConvertible {
    /// The fault.
    public let description: String
  }

  /// The reply to send to the service.
  public struct Reply: Sendable {
    /// The status, such as 204.
    public let status: Int
    /// The header fields.
    public let headers: [String: String]
    /// The body.
    public let body: Data
  }

  private let keys: [WebhookKey]
  private let tolerance: Double
  private let now: @Sendable () -> Date

  /// Creates a receiver. After a rotation, pass the new key and the previous one.
  ///
  /// - Parameters:
  ///   - keys: the secrets (`whsec_…`) or the public keys (`whpk_…`) of the webhook.
  ///   - tolerance: the largest difference between the time of a message and `now`, in seconds.
  ///   - now: the clock.
  public init(
    keys: [String], tolerance: Double = 300, now: @escaping @Sendable () -> Date = { Date() }
  ) throws(InvalidKey) {
    guard !keys.isEmpty else {
      throw InvalidKey(description: "a webhook needs a secret (whsec_…) or a public key (whpk_…)")
    }
    var all: [WebhookKey] = []
    for key in keys { all.append(try WebhookKey(key)) }
    (self.keys, self.tolerance, self.now) = (all, tolerance, now)
  }

  /// Returns the message if a signature is valid and the time is near.
  ///
  /// - Parameters:
  ///   - headers: the header fields. The case of their names does not matter.
  ///   - body: the body as it was received. A parsed and written body has another signature.
  public func verify(headers: [String: String], body: Data) throws(InvalidMessage) -> FerryWebhookMessage {
    let fields = Dictionary(headers.map { ($0.key.lowercased(), $0.value) }) { first, _ in first }
    func field(_ name: String) throws(InvalidMessage) -> String {
      guard let value = fields[name] else {
        throw InvalidMessage(description: "the header field \(name) is missing")
      }
      return value
    }
    let id = try field("webhook-id")
    let timestamp = try field("webhook-timestamp")
    let given = try field("webhook-signature")
    guard timestamp.utf8.allSatisfy({ UInt8(ascii: "0")...UInt8(ascii: "9") ~= $0 }),
      let seconds = Int64(timestamp), timestamp.utf8.count <= 15
    else { throw InvalidMessage(description: "webhook-timestamp is not a number of seconds") }
    guard abs(now().timeIntervalSince1970 - Double(seconds)) <= tolerance else {
      throw InvalidMessage(description: "webhook-timestamp is too old, or in the future")
    }
    let signed = Data("\(id).\(timestamp).".utf8) + body
    // Every signature is compared with every key, so that the duration does not depend on the position of a match.
    let results = given.split(separator: " ").flatMap { text in keys.map { $0.isValid(text, for: signed) } }
    guard results.contains(true) else {
      throw InvalidMessage(description: "no signature in webhook-signature is valid for this webhook")
    }
    guard let message = FerryWebhookMessage(id: id, body: body) else {
      throw InvalidMessage(description: "the body is no message in JSON")
    }
    return message
  }

  /// Verifies a message and returns the reply to it.
  ///
  /// An invalid message gets 401 and does not reach the handler. If the handler throws an error, reply 500, so that the
  /// service sends the message again.
  ///
  /// - Parameter handler: returns the answer to the decision that the message asks for. With `nil`, the decision stays open
  ///   until another client answers it, or until it expires.
  public func respond(
    headers: [String: String], body: Data,
    handler: (FerryWebhookMessage) async throws -> FerryDecisionAnswer?
  ) async throws -> Reply {
    let message: FerryWebhookMessage
    do throws(InvalidMessage) { message = try verify(headers: headers, body: body) } catch {
      return Reply(status: 401, headers: ["Content-Type": "text/plain"], body: Data("\(error)\n".utf8))
    }
    guard let answer = try await handler(message) else {
      return Reply(status: 204, headers: [:], body: Data())
    }
    var writer = JSONWriter()
    writer.object { answer.encode(into: &$0) }
    return Reply(status: 200, headers: ["Content-Type": "application/json"], body: Data(writer.bytes))
  }
}

/// A key that verifies signatures.
private enum WebhookKey: Sendable {
  case secret(Data)
  case publicKey(Curve25519.Signing.PublicKey)

  init(_ text: String) throws(FerryWebhook.InvalidKey) {
    if text.hasPrefix("whsec_") {
      guard let bytes = Data(base64Encoded: String(text.dropFirst(6))), !bytes.isEmpty else {
        throw FerryWebhook.InvalidKey(description: "the secret is not whsec_ and base64")
      }
      self = .secret(bytes)
    } else if text.hasPrefix("whpk_") {
      guard let bytes = Data(base64Encoded: String(text.dropFirst(5))),
        let key = try? Curve25519.Signing.PublicKey(rawRepresentation: bytes)
      else {
        throw FerryWebhook.InvalidKey(description: "the public key is not whpk_ and the base64 of 32 bytes")
      }
      self = .publicKey(key)
    } else {
      throw FerryWebhook.InvalidKey(description: "a key begins with whsec_ or whpk_")
    }
  }

  /// Returns whether one signature of a message is valid.
  func isValid(_ signature: Substring, for signed: Data) -> Bool {
    let parts = signature.split(separator: ",", maxSplits: 1, omittingEmptySubsequences: false)
    // Foundation decodes a text with too much padding, too.
    guard parts.count == 2, let bytes = Data(base64Encoded: String(parts[1])),
      bytes.base64EncodedString() == parts[1]
    else { return false }
    switch self {
    case .secret(let secret):
      return parts[0] == "v1"
        && HMAC<SHA256>.isValidAuthenticationCode(
          bytes, authenticating: signed, using: SymmetricKey(data: secret))
    case .publicKey(let key): return parts[0] == "v1a" && key.isValidSignature(bytes, for: signed)
    }
  }
}

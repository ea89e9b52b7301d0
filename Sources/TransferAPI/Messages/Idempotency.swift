internal import Crypto
internal import HTTPServer
internal import HTTPTypes
internal import TransferModel
internal import TransferService

/// A request with an Idempotency-Key (IETF draft, httpapi). The first request runs; repeated requests receive its reply.
struct IdempotentRequest: Sendable {
  private let key: IdempotencyKey
  private let digest: [UInt8]
  private let service: TransferService

  /// The digest of a request's method, path and body, which identifies the request.
  struct Digest {
    private var hash = SHA256()

    init(_ context: RequestContext) {
      hash.update(data: Array("\(context.request.head.method.rawValue) \(context.request.path)\n".utf8))
    }

    mutating func update(_ body: [UInt8]) { hash.update(data: body) }
    fileprivate var bytes: [UInt8] { Array(hash.finalize()) }
  }

  /// - Returns: `nil` if the client sent no key.
  init?(_ context: RequestContext, body: [UInt8], service: TransferService) throws(Problem) {
    guard context.field(.idempotencyKey) != nil else { return nil }
    var digest = Digest(context)
    digest.update(body)
    try self.init(context, digest, service: service)
  }

  /// - Returns: `nil` if the client sent no key.
  init?(_ context: RequestContext, _ digest: Digest, service: TransferService) throws(Problem) {
    guard let key = try Self.key(of: context) else { return nil }
    self.key = key
    self.digest = digest.bytes
    self.service = service
  }

  /// - Returns: the key, or `nil` if the client sent none.
  static func key(of context: RequestContext) throws(Problem) -> IdempotencyKey? {
    guard let field = context.field(.idempotencyKey), let tenant = context.tenant else { return nil }
    // The draft demands a quoted string. Bare keys are common and accepted too.
    let isQuoted = field.count >= 2 && field.hasPrefix("\"") && field.hasSuffix("\"")
    let key = IdempotencyKey(tenant: tenant, text: isQuoted ? String(field.dropFirst().dropLast()) : field)
    guard (1...255).contains(key.text.utf8.count) else {
      throw RequestContext.invalid(.idempotencyKey, "must have 1 to 255 bytes, not \(key.text.utf8.count)")
    }
    return key
  }

  /// Returns the key for one task of a command for many tasks.
  /// - Parameter part: the name of the part.
  static func key(of part: String, within whole: IdempotencyKey) -> String {
    "\(Hexadecimal.text(Array(SHA256.hash(data: Array(whole.text.utf8))))) \(part)"
  }

  /// Runs `body`, or returns the stored reply.
  func run(_ body: () async throws -> ServerResponse) async throws -> ServerResponse {
    switch try await service.idempotency.admit(key, digest: digest) {
    case .replay(let reply): return Self.response(reply)
    case .fresh:
      defer { service.idempotency.release(key) }
      do { return try await body() } catch ServiceError.keyTaken {
        let known = try await service.idempotency.reply(key, digest: digest)
        guard let known else { throw ServiceError.keyTaken }
        return Self.response(known)
      }
    }
  }

  /// Makes the reply to store. It is written in the commit of the request's effects.
  func reply(status: Int, type: String, location: String?, body: [UInt8]) -> IdempotentReply {
    IdempotentReply(
      key: key, digest: digest, status: status, contentType: type, location: location,
      body: body,
      createdAt: service.identifiers.now())
  }

  private static func response(_ reply: IdempotentReply) -> ServerResponse {
    var fields = HTTPFields()
    if let location = reply.location {
      fields[.location] = location
      fields[.eTag] = EntityTag.of(reply.body)
    }
    return ReplyBuilder.json(reply.body, status: reply.status, fields: fields, type: reply.contentType)
  }
}

extension IdempotentRequest? {
  /// Runs `body` directly if the client sent no key.
  func run(_ body: () async throws -> ServerResponse) async throws -> ServerResponse {
    guard let self else { return try await body() }
    return try await self.run(body)
  }
}

internal import HTTPFields
internal import HTTPServer
internal import HTTPTypes
internal import JSON
internal import Limits
internal import Peers
internal import TransferModel
internal import TransferService

/// Carries requests out where what they are about is: here, or at the process that owns it.
struct Forwarder: Sendable {
  /// Bytes of a body that is kept while another process is asked, so that a third can be.
  private static let keptBytes = 1024 * 1024
  /// Seconds for which a client may be silent in the middle of a body that is handed on.
  private static let longestSilence = 24 * 60 * 60
  /// How long a request looks for its process.
  private static let patience = Duration.seconds(30)

  let whereabouts: Whereabouts
  /// nil: no other process takes part.
  let peers: PeerClient?

  /// What a request is about, by its path; nil where any process can carry it out.
  private static func subject(_ route: Route, _ context: RequestContext) -> Subject? {
    if let text = context.parameters["session"] { return SessionID(text).map { .session($0) } }
    if let text = context.parameters["task"] { return TaskID(text).map { .task($0) } }
    if let text = context.parameters["decision"] { return DecisionID(text).map { .decision($0) } }
    return route.isOfSharedSession ? .session(.shared) : nil
  }

  /// - Parameter handle: carries the request out here.
  func carryOut(
    _ route: Route, _ context: RequestContext,
    _ handle: (RequestContext) async throws -> ServerResponse
  ) async throws -> ServerResponse {
    guard let tenant = context.tenant, let subject = Self.subject(route, context) else {
      return try await handle(context)
    }
    return try await carryOut(context, about: subject, of: tenant, handle)
  }

  /// - Parameter handle: carries the request out where the subject is.
  func carryOut(
    _ context: RequestContext, about subject: Subject, of tenant: Tenant,
    _ handle: (RequestContext) async throws -> ServerResponse
  ) async throws -> ServerResponse {
    try await carryOut(
      context, subject,
      at: { () async throws(ServiceError) in
        try await whereabouts.place(of: subject, for: tenant)
      }, handle)
  }

  /// - Parameter place: lets the request in where it belongs.
  func carryOut(
    _ context: RequestContext, _ subject: Subject? = nil,
    at place: () async throws(ServiceError) -> Place,
    _ handle: (RequestContext) async throws -> ServerResponse
  ) async throws -> ServerResponse {
    let deadline = ContinuousClock.now + Self.patience
    var context = context
    var hasLooked = false
    while true {
      switch try await place() {
      case .here(let shard):
        defer { if let shard { whereabouts.owners.leave(shard) } }
        return try await handle(context)
      case .alone:
        do { return try await handle(context) } catch {
          guard try await whereabouts.mayBeElsewhere(error) else { throw error }
          throw Self.moving
        }
      case .unknown:
        guard !context.isFromPeer, let subject else { return try await handle(context) }
        switch await holder(of: subject) {
        case .nobody: return try await handle(context)
        case .process(let address):
          if let response = try await forward(&context, to: address) { return response }
        case .unclear: break
        }
      case .elsewhere(let address):
        guard !context.isFromPeer else { throw Misdirected() }
        if let response = try await forward(&context, to: address) { return response }
      }
      guard ContinuousClock.now < deadline else { throw Self.moving }
      try await whereabouts.refresh(waits: hasLooked)
      hasLooked = true
    }
  }

  /// Another process owns what the request is about.
  struct Misdirected: Error {}

  private static let moving = Problem(
    .storeUnavailable, "the session is on its way from one process to another"
  ).with("Retry-After", "1")

  // MARK: Forwarding

  /// - Returns: nil where the process did nothing, and another can be asked.
  private func forward(_ context: inout RequestContext, to address: String) async throws -> ServerResponse? {
    guard let peers else { throw Self.moving }
    let body = try await keep(&context)
    let isRepeatable = body != nil
    do throws(PeerFailure) {
      let response = try await peers.send(context.request, Self.fields(context), body: body, to: address)
      guard response.head.status == .misdirectedRequest else { return response }
      response.body.close()
    } catch {
      switch error {
      case .unreachable: break
      case .lost where isRepeatable && context.isIdempotent: break
      case .lost:
        throw Problem(
          .storeUnavailable, "the process that had the session is gone; it may have done what was asked"
        ).with("Retry-After", "1")
      }
    }
    guard isRepeatable else { throw Self.moving }
    return nil
  }

  /// Reads a small body, so that it can be sent more than once; nil where it is large.
  private func keep(_ context: inout RequestContext) async throws -> [UInt8]? {
    guard let length = context.request.body.length, length <= Self.keptBytes else {
      // The other process knows how long it may take.
      context.request.body.allowSilence(seconds: Self.longestSilence)
      return nil
    }
    let bytes = try await context.request.body.collect(upTo: length)
    context = context.with(RequestBody(bytes))
    return bytes
  }

  private static func fields(_ context: RequestContext) -> HTTPFields {
    var fields = context.request.head.headerFields
    fields[.authorization] = nil
    fields[.expect] = nil
    fields[.tenant] = context.tenant?.name
    return fields
  }

  // MARK: Lists

  /// The largest page accepted from another service, in bytes. The last item of a page may exceed `Limits.pageBytes`.
  private static let listBytes = Limits.pageBytes.value + 8 * 1024 * 1024

  /// The other services' items for a list, and whether any of these services has more.
  struct Others {
    var items: [JSONValue] = []
    var hasMore = false
  }

  /// What all processes have for a list, once each shard's sessions are in the list of one of them; each is asked for so many items.
  func joinLists<Items>(
    _ context: RequestContext, limit: Int, own: () throws -> Items
  ) async throws -> (own: Items, others: Others) {
    let deadline = ContinuousClock.now + Self.patience
    let rest = context.request.query.split(separator: "&").filter { !$0.hasPrefix("limit=") }
    let query = (rest + ["limit=\(limit)"]).joined(separator: "&")
    let request = ServerRequest(
      head: context.request.head, path: context.request.path, query: query, body: RequestBody([]),
      localPort: context.request.localPort)
    var fields = HTTPFields()
    fields[.tenant] = context.tenant?.name
    while true {
      let (items, shards) = try whereabouts.owners.list(own)
      if let (others, otherShards) = try? await askAll(request, fields), otherShards.union(shards) == .all {
        return (items, others)
      }
      guard ContinuousClock.now < deadline else { throw Self.moving }
      try await whereabouts.refresh(waits: true)
    }
  }

  private func askAll(
    _ request: ServerRequest, _ fields: HTTPFields
  ) async throws(PeerFailure) -> (others: Others, shards: ShardSet) {
    var others = Others()
    var shards = ShardSet()
    for address in whereabouts.owners.others {
      guard let peers else { continue }
      let (fields, bytes) = try await peers.fetch(request, fields, upTo: Self.listBytes, from: address)
      guard let page = try? JSONParser.parse(bytes), let list = page["items"]?.elements,
        let listed = fields[.shards].flatMap({ ShardSet(text: $0) })
      else { throw .lost("gives no list") }
      others.items += list
      if page["nextCursor"]?.string != nil { others.hasMore = true }
      shards = shards.union(listed)
    }
    return (others, shards)
  }

  // MARK: What is in the memory of another

  /// Carries a request out whose reply is kept already: here, or in the memory of another process, which made something ephemeral.
  /// - Returns: nil where no process has a reply under that key.
  func repeated(
    _ context: RequestContext, under key: IdempotencyKey,
    _ handle: (RequestContext) async throws -> ServerResponse
  ) async throws -> ServerResponse? {
    guard !whereabouts.owners.isAlone else { return nil }
    if await whereabouts.keepsReply(under: key) { return try await handle(context) }
    guard !context.isFromPeer, let tenant = context.tenant else { return nil }
    var fields = HTTPFields()
    fields[.tenant] = tenant.name
    fields[.idempotencyKey] = "\"\(key.text)\""
    for address in whereabouts.owners.others {
      let answer = try? await peers?.send(Self.question(Self.keepsPath), fields, body: [], to: address)
      guard answer?.head.status == .noContent else { continue }
      var context = context
      if let response = try await forward(&context, to: address) { return response }
    }
    return nil
  }

  /// What one process asks another, by its path.
  private static func question(_ path: String) -> ServerRequest {
    ServerRequest(
      head: HTTPRequest(method: .get, scheme: "http", authority: "ferry", path: nil), path: path, query: "",
      body: RequestBody([]), localPort: 0)
  }

  private enum Holder {
    case nobody
    case process(String)
    /// One of the processes does not answer.
    case unclear
  }

  /// Which of the other processes has it.
  private func holder(of subject: Subject) async -> Holder {
    var holder = Holder.nobody
    for address in whereabouts.owners.others {
      let request = Self.question(Self.holdsPath + subject.text)
      switch try? await peers?.send(request, [:], body: [], to: address).head.status {
      case .noContent: return .process(address)
      case .notFound: break
      default: holder = .unclear
      }
    }
    return holder
  }

  /// What other processes ask: whether this one has something in its memory.
  private static let holdsPath = "/holds/"
  /// The same, for a reply that is kept under a key.
  private static let keepsPath = "/keeps"

  /// The answer to that; nil where it is no such question.
  func answer(to request: ServerRequest) async -> ServerResponse? {
    let fields = request.head.headerFields
    if request.path == Self.keepsPath, let tenant = fields[.tenant], let text = fields[.idempotencyKey] {
      let key = IdempotencyKey(tenant: Tenant(name: tenant), text: String(text.dropFirst().dropLast()))
      return ServerResponse(status: await whereabouts.keepsReply(under: key) ? .noContent : .notFound)
    }
    guard request.path.hasPrefix(Self.holdsPath) else { return nil }
    let text = String(request.path.dropFirst(Self.holdsPath.count))
    let subject: Subject? =
      SessionID(text).map { .session($0) } ?? TaskID(text).map { .task($0) }
      ?? DecisionID(text).map { .decision($0) }
    guard let subject else { return ServerResponse(status: .notFound) }
    return ServerResponse(status: await whereabouts.holds(subject) ? .noContent : .notFound)
  }
}

extension Subject {
  /// Its id, as paths have it.
  fileprivate var text: String {
    switch self {
    case .session(let id): id.description
    case .task(let id): id.description
    case .decision(let id): id.description
    }
  }
}

extension HTTPField.Name {
  /// On whose behalf a process hands a request on to another.
  static let tenant = Self("Ferry-Tenant")!
  /// Of which shards a process's list has all sessions.
  static let shards = Self("Ferry-Shards")!
}

extension RequestContext {
  /// Whether it may be carried out twice (RFC 9110 §9.2.2): by its method, or as the key says which is which.
  fileprivate var isIdempotent: Bool {
    switch request.head.method {
    case .get, .head, .put, .delete, .options: true
    default: field(.idempotencyKey) != nil
    }
  }
}

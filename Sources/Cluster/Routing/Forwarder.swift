internal import HTTPServer
internal import HTTPTypes
internal import JSON
internal import Ledger
internal import Limits
internal import TransferModel

/// The client side of the cluster: forwards requests to the other services and queries what they have in memory.
struct Forwarder: Sendable {
  /// The largest request body that is kept, in bytes, so that it can be sent to another service as well.
  private static let keptBytes = 1024 * 1024
  /// The longest pause within a forwarded body, in seconds.
  private static let longestSilence = 24 * 60 * 60
  /// The largest page that is accepted from another service, in bytes. The last item of a page may exceed `Limits.pageBytes`.
  private static let listBytes = Limits.pageBytes.value + 8 * 1024 * 1024

  let gate: ShardGate
  /// The connections; `nil` if no other service takes part.
  let peers: (any PeerConnections)?

  // MARK: Requests

  /// Forwards a request.
  /// - Parameter read: the request's body, if it was read already. A small body is read and stored in it.
  /// - Returns: `nil` if the service did nothing and another one can be asked.
  func forward(
    _ request: ServerRequest, _ read: inout RequestBody?, of tenant: Tenant, to address: String
  ) async throws -> ServerResponse? {
    guard let peers else { throw ClusterError.moving }
    let body = try await keep(request, &read)
    let isRepeatable = body != nil
    do throws(PeerFailure) {
      let response = try await peers.send(request, Self.fields(request, tenant), body: body, to: address)
      guard response.head.status == .misdirectedRequest else { return response }
      response.body.close()
    } catch {
      switch error {
      case .unreachable: break
      case .lost where isRepeatable && request.isIdempotent: break
      case .lost: throw ClusterError.ownerLost
      }
    }
    guard isRepeatable else { throw ClusterError.moving }
    return nil
  }

  /// Reads a small body, so that it can be sent more than once. Returns `nil` for a large one.
  private func keep(_ request: ServerRequest, _ read: inout RequestBody?) async throws -> [UInt8]? {
    let body = read ?? request.body
    guard let length = body.length, length <= Self.keptBytes else {
      // The owner applies its own timeout.
      body.allowSilence(seconds: Self.longestSilence)
      return nil
    }
    let bytes = try await body.collect(upTo: length)
    read = RequestBody(bytes)
    return bytes
  }

  private static func fields(_ request: ServerRequest, _ tenant: Tenant) -> HTTPFields {
    var fields = request.head.headerFields
    fields[.authorization] = nil
    fields[.expect] = nil
    fields[.tenant] = tenant.name
    return fields
  }

  // MARK: Lists

  /// The items of the other services for a list, and whether any of these services has more.
  struct PeerLists {
    var items: [JSONValue] = []
    var hasMore = false
    /// The shards whose sessions are all in the lists.
    var shards = ShardSet()
  }

  /// Asks every other service for its part of a list.
  /// - Parameter limit: the most items of each service.
  func askAll(
    _ request: ServerRequest, of tenant: Tenant, limit: Int
  ) async throws(PeerFailure) -> PeerLists {
    let rest = request.query.split(separator: "&").filter { !$0.hasPrefix("limit=") }
    let query = (rest + ["limit=\(limit)"]).joined(separator: "&")
    let request = ServerRequest(
      head: request.head, path: request.path, query: query, body: RequestBody([]),
      localPort: request.localPort)
    var fields = HTTPFields()
    fields[.tenant] = tenant.name
    var lists = PeerLists()
    for address in gate.others {
      guard let peers else { continue }
      let (fields, bytes) = try await peers.fetch(
        request, fields, body: [], upTo: Self.listBytes, from: address)
      guard let page = try? JSONParser.parse(bytes), let items = page["items"]?.elements,
        let shards = fields[.shards].flatMap({ ShardSet(text: $0) })
      else { throw .lost("gives no list") }
      lists.items += items
      if page["nextCursor"]?.string != nil { lists.hasMore = true }
      lists.shards = lists.shards.union(shards)
    }
    return lists
  }

  /// Sends a JSON request to every other service, and returns their replies; `nil` for a failure.
  func sendToAll(_ request: ServerRequest, _ json: [UInt8], of tenant: Tenant) async -> [[UInt8]?] {
    var fields = HTTPFields()
    fields[.tenant] = tenant.name
    fields[.contentType] = "application/json"
    fields[.idempotencyKey] = request.head.headerFields[.idempotencyKey]
    var replies: [[UInt8]?] = []
    for address in gate.others {
      guard let peers else { continue }
      replies.append(
        try? await peers.fetch(request, fields, body: json, upTo: Self.listBytes, from: address).bytes)
    }
    return replies
  }

  // MARK: Notifications

  private static let notificationPath = "/notifications"

  /// Sends a notification to every other service. A service that cannot be reached is dead, and reads the ledger when it starts.
  func send(_ notification: PeerNotification) async {
    for address in gate.others {
      let request = Self.request(.post, Self.notificationPath)
      _ = try? await peers?.send(request, [:], body: notification.json, to: address)
    }
  }

  /// Returns another service's notification; `nil` if the request is not one.
  static func notification(in request: ServerRequest) async -> PeerNotification? {
    guard request.path == notificationPath, let bytes = try? await request.body.collect(upTo: keptBytes)
    else {
      return nil
    }
    return PeerNotification(json: bytes)
  }

  // MARK: The memory of other services

  /// The path of the query whether a service has a subject in memory, without the subject's id at its end.
  private static let holdsPath = "/holds/"
  /// The path of the query whether a service has the reply to an Idempotency-Key.
  private static let keepsPath = "/keeps"

  enum HolderLookup {
    case none
    case peer(String)
    /// A service did not answer.
    case unknown
  }

  /// Returns the other service that has a subject in memory.
  func holder(of subject: RequestSubject) async -> HolderLookup {
    var holder = HolderLookup.none
    for address in gate.others {
      let request = Self.request(.get, Self.holdsPath + (subject.id ?? ""))
      switch try? await peers?.send(request, [:], body: [], to: address).head.status {
      case .noContent: return .peer(address)
      case .notFound: break
      default: holder = .unknown
      }
    }
    return holder
  }

  /// Returns whether another service has the reply to an Idempotency-Key; `nil` if the service does not answer. A service that cannot be
  /// reached is dead or has not started, so it has no reply.
  func keepsReply(under key: IdempotencyKey, at address: String) async -> Bool? {
    guard let peers else { return false }
    var fields = HTTPFields()
    fields[.tenant] = key.tenant.name
    fields[.idempotencyKey] = "\"\(key.text)\""
    do throws(PeerFailure) {
      switch try await peers.send(Self.request(.get, Self.keepsPath), fields, body: [], to: address).head
        .status
      {
      case .noContent: return true
      case .notFound: return false
      default: return nil
      }
    } catch {
      if case .unreachable = error { return false }
      return nil
    }
  }

  private static func request(_ method: HTTPRequest.Method, _ path: String) -> ServerRequest {
    ServerRequest(
      head: HTTPRequest(method: method, scheme: "http", authority: "ferry", path: nil), path: path, query: "",
      body: RequestBody([]), localPort: 0)
  }

  /// Returns the reply to another service's query; `nil` if the request is not a query.
  static func answer(to request: ServerRequest, by locator: RequestLocator) async -> ServerResponse? {
    let fields = request.head.headerFields
    if request.path == keepsPath, let tenant = fields[.tenant], let text = fields[.idempotencyKey] {
      let key = IdempotencyKey(tenant: Tenant(name: tenant), text: String(text.dropFirst().dropLast()))
      return await answer { () throws(ClusterError) in try await locator.keepsReply(under: key) }
    }
    guard request.path.hasPrefix(holdsPath) else { return nil }
    guard let subject = RequestSubject(id: String(request.path.dropFirst(holdsPath.count))) else {
      return ServerResponse(status: .notFound)
    }
    return await answer { () throws(ClusterError) in try await locator.holds(subject) }
  }

  private static func answer(_ isTrue: () async throws(ClusterError) -> Bool) async -> ServerResponse {
    do throws(ClusterError) {
      return ServerResponse(status: try await isTrue() ? .noContent : .notFound)
    } catch {
      return ServerResponse(status: .serviceUnavailable)
    }
  }
}

extension HTTPField.Name {
  /// The tenant of a forwarded request.
  static let tenant = Self("Ferry-Tenant")!
  /// The shards whose sessions are all in a service's list.
  static let shards = Self("Ferry-Shards")!
  fileprivate static let idempotencyKey = Self("Idempotency-Key")!
}

extension ServerRequest {
  /// Whether the request may be carried out twice (RFC 9110 §9.2.2): by its method, or because repeats have an Idempotency-Key.
  fileprivate var isIdempotent: Bool {
    switch head.method {
    case .get, .head, .put, .delete, .options: true
    default: head.headerFields[.idempotencyKey] != nil
    }
  }
}

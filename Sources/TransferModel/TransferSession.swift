package import JSON

package enum SessionState: String, Sendable, CaseIterable {
  case active, invalidating, invalid
}

/// What becomes of what a session keeps.
package enum SessionType: String, Sendable, CaseIterable {
  /// On disk.
  case `default`
  /// In memory only, and wiped with the session.
  case ephemeral
  /// On disk; transfers go on without the API's process.
  case background
}

/// A session (URLSession): a configuration, a delegate and the tasks created in it.
package struct TransferSession: Sendable, Equatable {
  package let id: SessionID
  package let type: SessionType
  package let createdAt: Timestamp
  package let description: String?
  package private(set) var configuration: SessionConfiguration
  package private(set) var delegate: SessionDelegate?
  /// By which a client finds a background session again; nil for others.
  package let identifier: String?
  /// Whose it is, with all that it has. Not shown.
  package let tenant: Tenant
  package var state = SessionState.active
  /// A background session's task has ended since `session.didFinishEvents` was last told. Not shown.
  package var owesFinishedEvents = false

  package init(
    id: SessionID, type: SessionType = .default, createdAt: Timestamp, description: String?,
    configuration: SessionConfiguration, delegate: SessionDelegate?, identifier: String? = nil,
    tenant: Tenant = .default
  ) {
    self.id = id
    self.type = type
    self.identifier = identifier
    self.tenant = tenant
    self.createdAt = createdAt
    self.description = description
    self.configuration = configuration
    // Its cache has no place on disk.
    if type == .ephemeral { self.configuration.urlCache.diskCapacity = 0 }
    self.delegate = delegate
    if type == .background { applyBackgroundRules() }
  }

  /// As URLSession has it: such a session caches nothing, always waits for a network, and asks nobody about redirects,
  /// responses and what to cache.
  private mutating func applyBackgroundRules() {
    configuration.urlCache = .none
    configuration.waitsForConnectivity = true
    delegate?.asksForRedirects = false
    delegate?.asksForResponses = false
    delegate?.asksForCaching = false
  }

  /// What finds it again; nil for one that has no identifier.
  package var backgroundName: BackgroundName? {
    identifier.map { BackgroundName(tenant: tenant, identifier: $0) }
  }

  /// In what a client's session is not this one; empty where it is, however it is written.
  package func differences(to other: TransferSession) -> [String] {
    var names: [String] = []
    if configuration.canonical != other.configuration.canonical { names.append("configuration") }
    if delegate?.canonical != other.delegate?.canonical { names.append("delegate") }
    if description != other.description { names.append("description") }
    return names
  }

  /// `URLSession.shared`: default configuration, no delegate, never invalid.
  /// - Parameter id: of that tenant.
  package static func shared(_ id: SessionID, of tenant: Tenant) -> TransferSession {
    TransferSession(
      id: id, createdAt: Timestamp(microseconds: 0), description: nil,
      configuration: SessionConfiguration(), delegate: nil, tenant: tenant)
  }
}

extension SessionConfiguration {
  /// The one form of all that mean the same: defaults are spelled out, and what has no order is sorted.
  fileprivate var canonical: SessionConfiguration {
    var configuration = self
    configuration.retry = retry ?? RetryConfiguration()
    configuration.httpAdditionalHeaders = httpAdditionalHeaders.canonical
    configuration.secretHeaderFields = Set(secretHeaderFields.map { $0.lowercased() }).sorted()
    configuration.proxies.noProxy.sort { $0.text < $1.text }
    return configuration
  }
}

extension HTTPHeaders {
  /// By name, without case; values of one name stay in their order.
  fileprivate var canonical: HTTPHeaders {
    let fields = fields.map { Field(name: $0.name.lowercased(), value: $0.value) }
    let order = fields.indices.sorted { (fields[$0].name, $0) < (fields[$1].name, $1) }
    return HTTPHeaders(order.map { fields[$0] })
  }
}

extension SessionDelegate {
  fileprivate var canonical: SessionDelegate {
    var delegate = self
    delegate.taskChallenges = taskChallenges ?? .default
    if delegate.taskChallenges == .default { delegate.sessionChallenges = sessionChallenges ?? .default }
    delegate.events = Set(events).sorted { $0.rawValue < $1.rawValue }
    return delegate
  }
}

extension TransferSession: JSONEncodable {
  package func encode(into writer: inout JSONWriter) {
    writer.object { writer in
      writer.field("id", id)
      writer.field("type", type.rawValue)
      writer.field("identifier", identifier)
      writer.field("state", state.rawValue)
      writer.field("description", description)
      writer.field("createdAt", createdAt)
      writer.field("configuration", Optional(configuration))
      writer.field("delegate", delegate)
    }
  }
}

internal import HTTPFields
package import JSON

package enum SessionState: String, Sendable, CaseIterable {
  case active, invalidating, invalid
}

/// The type of a session, which determines how long its data lives.
package enum SessionType: String, Sendable, CaseIterable {
  /// On disk.
  case `default`
  /// In memory only, and deleted with the session.
  case ephemeral
  /// On disk. Transfers continue without the service.
  case background
}

/// A session (URLSession): a configuration, a delegate and the tasks created in it.
package struct TransferSession: Sendable, Equatable {
  /// The members that never change. Sessions are copied for each step of a task, so these members share one pointer.
  private struct Constants: Sendable, Equatable {
    let createdAt: Timestamp
    let description: String?
    let delegate: SessionDelegate?
    let identifier: String?
    let tenant: Tenant
    let isLarge: Bool
    var isOutline = false
  }
  package let id: SessionID
  package let type: SessionType
  private let constants: SharedBox<Constants>
  package let sharedConfiguration: SharedBox<SessionConfiguration>
  package var state = SessionState.active
  /// Whether a task of a background session has ended since the last `session.didFinishEvents`. Not shown to clients.
  package var owesFinishedEvents = false

  package init(
    id: SessionID, type: SessionType = .default, createdAt: Timestamp, description: String?,
    configuration: SessionConfiguration, delegate: SessionDelegate?, identifier: String? = nil,
    tenant: Tenant = .default
  ) {
    self.id = id
    self.type = type
    var (configuration, delegate) = (configuration, delegate)
    // The cache of an ephemeral session is in memory only.
    if type == .ephemeral { configuration.urlCache.diskCapacity = 0 }
    if type == .background { Self.applyBackgroundRules(to: &configuration, &delegate) }
    let isLarge =
      configuration.isLarge || (description?.utf8.count ?? 0) > SessionConfiguration.largestSmallSize
    sharedConfiguration = SharedBox(configuration)
    constants = SharedBox(
      Constants(
        createdAt: createdAt, description: description, delegate: delegate, identifier: identifier,
        tenant: tenant, isLarge: isLarge))
  }

  /// Applies URLSession's rules: a background session caches nothing, and always waits for a network. It requests no decisions about
  /// redirects, responses and caching.
  private static func applyBackgroundRules(
    to configuration: inout SessionConfiguration, _ delegate: inout SessionDelegate?
  ) {
    configuration.urlCache = .none
    configuration.waitsForConnectivity = true
    delegate?.asksForRedirects = false
    delegate?.asksForResponses = false
    delegate?.asksForCaching = false
  }

  /// Whether the description or the configuration takes much memory.
  package var isLarge: Bool { constants.value.isLarge }
  /// Whether the description and the large members of the configuration are missing, because they are in the row only.
  package var isOutline: Bool { constants.value.isOutline }

  /// The form that stays in memory while no task of a large session runs.
  package var outline: TransferSession {
    TransferSession(
      self, SharedBox(configuration.outline),
      SharedBox(
        Constants(
          createdAt: createdAt, description: nil, delegate: delegate, identifier: identifier, tenant: tenant,
          isLarge: isLarge, isOutline: true)))
  }

  private init(
    _ session: TransferSession, _ configuration: SharedBox<SessionConfiguration>,
    _ constants: SharedBox<Constants>
  ) {
    (id, type, state, owesFinishedEvents) = (
      session.id, session.type, session.state, session.owesFinishedEvents
    )
    (sharedConfiguration, self.constants) = (configuration, constants)
  }

  /// Returns the session in its current state, with the members that only its row has.
  package func completed(from row: TransferSession) -> TransferSession {
    assert(row.id == id && !row.isOutline)
    guard isOutline else { return self }
    var session = row
    (session.state, session.owesFinishedEvents) = (state, owesFinishedEvents)
    return session
  }

  package var configuration: SessionConfiguration { sharedConfiguration.value }
  package var delegate: SessionDelegate? { constants.value.delegate }
  package var createdAt: Timestamp { constants.value.createdAt }
  package var description: String? { constants.value.description }
  /// The identifier by which a client finds a background session again; `nil` for other sessions.
  package var identifier: String? { constants.value.identifier }
  /// The owner of the session and of all its data. Not shown to clients.
  package var tenant: Tenant { constants.value.tenant }

  package static func == (left: Self, right: Self) -> Bool {
    left.id == right.id && left.type == right.type && left.state == right.state
      && left.owesFinishedEvents == right.owesFinishedEvents && left.constants.value == right.constants.value
      && left.configuration == right.configuration
  }

  /// The key of a background session; `nil` for a session without an identifier.
  package var backgroundKey: BackgroundSessionKey? {
    identifier.map { BackgroundSessionKey(tenant: tenant, identifier: $0) }
  }

  /// Returns the names of the members that differ from another session's in meaning. Equivalent notations do not count as different.
  package func differences(to other: TransferSession) -> [String] {
    var names: [String] = []
    if configuration.canonical != other.configuration.canonical { names.append("configuration") }
    if delegate?.canonical != other.delegate?.canonical { names.append("delegate") }
    if description != other.description { names.append("description") }
    return names
  }

  /// Returns a tenant's `URLSession.shared`: default configuration, no delegate, never invalid.
  /// - Parameter id: the id of that tenant's shared session.
  package static func shared(_ id: SessionID, of tenant: Tenant) -> TransferSession {
    TransferSession(
      id: id, createdAt: Timestamp(microseconds: 0), description: nil,
      configuration: SessionConfiguration(), delegate: nil, tenant: tenant)
  }
}

extension SessionConfiguration {
  /// The limit of a small session in bytes, for its description and its configuration each.
  fileprivate static let largestSmallSize = 4096

  /// Whether the variable-size members take much memory.
  package var isLarge: Bool { variableSize > Self.largestSmallSize }

  /// The approximate bytes of the variable-size members.
  package var variableSize: Int {
    let names = secretHeaderFields.reduce(0) { $0 + $1.utf8.count }
    let pins = tlsPinnedPublicKeys.reduce(0) { $0 + $1.pattern.utf8.count + 64 * $1.keys.count }
    let exceptions = proxies.noProxy.all.reduce(0) { $0 + 64 + $1.text.utf8.count }
    return httpAdditionalHeaders.textSize + names + pins + exceptions
      + (tlsAdditionalRootCertificates?.utf8.count ?? 0)
  }

  /// The configuration without its variable-size members.
  package var outline: SessionConfiguration {
    var outline = self
    outline.httpAdditionalHeaders = HTTPHeaders()
    outline.secretHeaderFields = []
    outline.tlsPinnedPublicKeys = []
    outline.proxies.noProxy = ProxyExceptions()
    outline.tlsAdditionalRootCertificates = nil
    return outline
  }

  /// The same form for all configurations with the same meaning: with explicit defaults, and with unordered members sorted.
  fileprivate var canonical: SessionConfiguration {
    var configuration = self
    configuration.retry = (retry ?? RetryConfiguration()).canonical
    configuration.httpAdditionalHeaders = httpAdditionalHeaders.canonical
    configuration.secretHeaderFields = Set(secretHeaderFields.map { $0.lowercasedASCII }).sorted()
    configuration.proxies.noProxy = ProxyExceptions(
      configuration.proxies.noProxy.all.sorted { $0.text < $1.text })
    return configuration
  }
}

extension HTTPHeaders {
  /// The fields sorted by lower-case name. The values of one name keep their order.
  fileprivate var canonical: HTTPHeaders {
    let fields = fields.map { Field(name: $0.name.lowercasedASCII, value: $0.value) }
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

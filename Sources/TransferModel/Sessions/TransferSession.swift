internal import HTTPFields
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
  /// What never changes. Sessions are handed around with each step of a task: that costs a word.
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
  private let constants: Shared<Constants>
  package let sharedConfiguration: Shared<SessionConfiguration>
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
    var (configuration, delegate) = (configuration, delegate)
    // Its cache has no place on disk.
    if type == .ephemeral { configuration.urlCache.diskCapacity = 0 }
    if type == .background { Self.applyBackgroundRules(to: &configuration, &delegate) }
    let isLarge =
      configuration.isLarge || (description?.utf8.count ?? 0) > SessionConfiguration.largestSmallSize
    sharedConfiguration = Shared(configuration)
    constants = Shared(
      Constants(
        createdAt: createdAt, description: description, delegate: delegate, identifier: identifier,
        tenant: tenant, isLarge: isLarge))
  }

  /// As URLSession has it: such a session caches nothing, always waits for a network, and asks nobody about redirects,
  /// responses and what to cache.
  private static func applyBackgroundRules(
    to configuration: inout SessionConfiguration, _ delegate: inout SessionDelegate?
  ) {
    configuration.urlCache = .none
    configuration.waitsForConnectivity = true
    delegate?.asksForRedirects = false
    delegate?.asksForResponses = false
    delegate?.asksForCaching = false
  }

  /// Whether its description and its configuration take much memory.
  package var isLarge: Bool { constants.value.isLarge }
  /// Whether it lacks its description and the large members of its configuration, which are in its row.
  package var isOutline: Bool { constants.value.isOutline }

  /// The form that stays in memory while nothing runs in a large session.
  package var outline: TransferSession {
    TransferSession(
      self, Shared(configuration.outline),
      Shared(
        Constants(
          createdAt: createdAt, description: nil, delegate: delegate, identifier: identifier, tenant: tenant,
          isLarge: isLarge, isOutline: true)))
  }

  private init(
    _ session: TransferSession, _ configuration: Shared<SessionConfiguration>, _ constants: Shared<Constants>
  ) {
    (id, type, state, owesFinishedEvents) = (
      session.id, session.type, session.state, session.owesFinishedEvents
    )
    (sharedConfiguration, self.constants) = (configuration, constants)
  }

  /// This session as it is now, with what only its row has.
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
  /// By which a client finds a background session again; nil for others.
  package var identifier: String? { constants.value.identifier }
  /// Whose it is, with all that it has. Not shown.
  package var tenant: Tenant { constants.value.tenant }

  package static func == (left: Self, right: Self) -> Bool {
    left.id == right.id && left.type == right.type && left.state == right.state
      && left.owesFinishedEvents == right.owesFinishedEvents && left.constants.value == right.constants.value
      && left.configuration == right.configuration
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
  /// A small session's limit in bytes, for its description and its configuration each.
  fileprivate static let largestSmallSize = 4096

  /// Whether its variable-size members take much memory.
  package var isLarge: Bool { variableSize > Self.largestSmallSize }

  /// Approximate bytes of the variable-size members.
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

  /// The one form of all that mean the same: defaults are spelled out, and what has no order is sorted.
  fileprivate var canonical: SessionConfiguration {
    var configuration = self
    configuration.retry = retry ?? RetryConfiguration()
    configuration.httpAdditionalHeaders = httpAdditionalHeaders.canonical
    configuration.secretHeaderFields = Set(secretHeaderFields.map { $0.lowercasedASCII }).sorted()
    configuration.proxies.noProxy = ProxyExceptions(
      configuration.proxies.noProxy.all.sorted { $0.text < $1.text })
    return configuration
  }
}

extension HTTPHeaders {
  /// By name, without case; values of one name stay in their order.
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

internal import GRDB
internal import HTTPCookies
internal import KeyDerivation
internal import Ledger
internal import Records
internal import TransferModel

extension WebhookDelivery {
  init(_ row: StoredRow) throws(UnreadableRow) {
    let (url, secret) = (try row.text(.deliveryURL), try row.secretIfAny(.deliverySecret))
    self.init(
      id: try row.id(.id), tenant: try row.tenant(), sessionID: try row.id(.session),
      taskID: try row.idIfAny(.task), type: try row.choice(.type), destination: try row.id(.destination),
      endpointID: try row.idIfAny(.endpoint), webhook: url.isEmpty ? nil : Webhook(url: url, secret: secret),
      payload: try row.content(.payload), createdAt: try row.time(.created),
      decisionID: try row.idIfAny(.decision))
    guard let place = Place(rawValue: Int(try row.integer(.place))) else {
      throw row.fault(.place, "is not a known value")
    }
    self.place = place
    state = try row.choice(.state)
    schedulePlace = Int(try row.integer(.schedulePlace))
    restore(try Self.attempts(row), count: Int(try row.integer(.attempts)))
    lastAttemptAt = try row.time(.lastAttempt)
    nextAttemptAt = try row.time(.nextAttempt)
    finishedAt = try row.integerIfAny(.finished).map { Timestamp(microseconds: $0) }
  }
}

extension WebhookDelivery {
  /// Returns the attempts. Earlier versions stored only the status and the error of the last one.
  private static func attempts(_ row: StoredRow) throws(UnreadableRow) -> [DeliveryAttempt] {
    if let attempts = try row.documentIfAny(
      .attempts, { document throws(RecordFault) in try Self.attempts(document) })
    {
      return attempts
    }
    guard try row.integer(.attempts) > 0 else { return [] }
    return [
      DeliveryAttempt(
        at: try row.time(.lastAttempt), status: try row.integerIfAny(.lastStatus).map { Int($0) },
        error: try row.textIfAny(.deliveryError))
    ]
  }
}

extension RowMapping<WebhookDelivery> {
  static let newDelivery = RowMapping(
    .delivery,
    [
      Column(.id) { delivery, _ in .id(delivery.id) },
      Column(.session) { delivery, _ in .id(delivery.sessionID) },
      Column(.task) { delivery, _ in .ifAny(delivery.taskID) { .id($0) } },
      Column(.type) { delivery, _ in .string(delivery.type.rawValue) },
      Column(.url) { delivery, box in box.sealed(delivery.webhook?.url ?? "", .deliveryURL) },
      Column(.secret) { delivery, box in .ifAny(delivery.webhook?.secret) { box.sealed($0) } },
      Column(.payload) { delivery, box in box.sealed(delivery.payload, .payload) },
      Column(.created) { delivery, _ in .time(delivery.createdAt) },
      Column(.state) { delivery, _ in .string(delivery.state.rawValue) },
      Column(.attempts) { delivery, _ in .integer(delivery.attemptCount) },
      Column(.lastAttempt) { delivery, _ in .time(delivery.lastAttemptAt) },
      Column(.nextAttempt) { delivery, _ in .time(delivery.nextAttemptAt) },
      Column(.decision) { delivery, _ in .ifAny(delivery.decisionID) { .id($0) } },
      Column(.tenant) { delivery, _ in .string(delivery.tenant.name) },
      Column(.destination) { delivery, _ in .id(delivery.destination) },
      Column(.endpoint) { delivery, _ in .ifAny(delivery.endpointID) { .id($0) } },
      Column(.place) { delivery, _ in .integer(delivery.place.rawValue) },
      Column(.schedulePlace) { delivery, _ in .integer(delivery.schedulePlace) },
      history,
      Column(.finished) { delivery, _ in .ifAny(delivery.finishedAt) { .time($0) } },
    ])

  private static let history = Column(.history) { delivery, box in
    delivery.attempts.isEmpty ? .null : box.sealed(delivery.attemptsDocument, .attempts)
  }

  static let updatedDelivery = RowMapping(
    .delivery,
    [
      Column(.state) { delivery, _ in .string(delivery.state.rawValue) },
      Column(.attempts) { delivery, _ in .integer(delivery.attemptCount) },
      Column(.lastAttempt) { delivery, _ in .time(delivery.lastAttemptAt) },
      Column(.nextAttempt) { delivery, _ in .time(delivery.nextAttemptAt) },
      history,
      Column(.place) { delivery, _ in .integer(delivery.place.rawValue) },
      Column(.schedulePlace) { delivery, _ in .integer(delivery.schedulePlace) },
      Column(.finished) { delivery, _ in .ifAny(delivery.finishedAt) { .time($0) } },
      Column(.id) { delivery, _ in .id(delivery.id) },
    ])
}

extension WebhookEndpoint {
  init(_ row: StoredRow) throws(UnreadableRow) {
    let (id, tenant): (EndpointID, Tenant) = (try row.id(.id), try row.tenant())
    let createdAt = try row.time(.created)
    self = try row.document(.endpoint) { document throws(RecordFault) in
      try WebhookEndpoint(document: document, id: id, tenant: tenant, createdAt: createdAt)
    }
  }
}

extension RowMapping<WebhookEndpoint> {
  static let endpoint = RowMapping(
    .endpoint,
    [
      Column(.id) { endpoint, _ in .id(endpoint.id) },
      Column(.tenant) { endpoint, _ in .string(endpoint.tenant.name) },
      Column(.created) { endpoint, _ in .time(endpoint.createdAt) },
      Column(.document) { endpoint, box in box.sealed(endpoint.document, .endpoint) },
    ])
}

extension Decision {
  init(_ row: StoredRow) throws(UnreadableRow) {
    self.init(
      id: try row.id(.id), type: try row.choice(.type), sessionID: try row.id(.session),
      taskID: try row.id(.task), createdAt: try row.time(.created), expiresAt: try row.time(.expires),
      defaultAnswer: try row.string(.defaultAnswer), arguments: try row.content(.arguments),
      question: try row.integerIfAny(.question).map { Int($0) })
    state = try row.choice(.state)
    answer = try row.contentIfAny(.answer)
    answerTag = try row.blobIfAny(.answerTag)
  }
}

extension RowMapping<Decision> {
  static let newDecision = RowMapping(
    .decision,
    [
      Column(.id) { decision, _ in .id(decision.id) },
      Column(.session) { decision, _ in .id(decision.sessionID) },
      Column(.task) { decision, _ in .id(decision.taskID) },
      Column(.type) { decision, _ in .string(decision.type.rawValue) },
      Column(.state) { decision, _ in .string(decision.state.rawValue) },
      Column(.created) { decision, _ in .time(decision.createdAt) },
      Column(.expires) { decision, _ in .time(decision.expiresAt) },
      Column(.defaultAnswer) { decision, _ in .string(decision.defaultAnswer) },
      Column(.arguments) { decision, box in box.sealed(decision.arguments, .arguments) },
      Column(.question) { decision, _ in .ifAny(decision.question) { .integer($0) } },
    ])
}

extension RowMapping<SettledDecision> {
  static let settledDecision = RowMapping(
    .decision,
    [
      Column(.state) { decision, _ in .string(decision.state.rawValue) },
      Column(.answer) { decision, box in .ifAny(decision.answer) { box.sealed($0, .answer) } },
      Column(.answerTag) { decision, _ in .ifAny(decision.answerTag) { .blob($0) } },
      Column(.id) { decision, _ in .id(decision.id) },
    ])
}

extension StoredFile {
  init(_ row: StoredRow) throws(UnreadableRow) {
    self.init(
      id: try row.id(.id), tenant: try row.tenant(), createdAt: try row.time(.created),
      size: try row.integer(.size), sha256: try row.string(.sha256),
      contentType: try row.textIfAny(.fileType), fromTask: try row.idIfAny(.task))
  }
}

extension RowMapping<StoredFile> {
  static let file = RowMapping(
    .file,
    [
      Column(.id) { file, _ in .id(file.id) },
      Column(.tenant) { file, _ in .string(file.tenant.name) },
      Column(.created) { file, _ in .time(file.createdAt) },
      Column(.size) { file, _ in .integer(file.size) },
      Column(.sha256) { file, _ in .string(file.sha256) },
      Column(.contentType) { file, box in .ifAny(file.contentType) { box.sealed($0, .fileType) } },
      Column(.task) { file, _ in .ifAny(file.fromTask) { .id($0) } },
    ])
}

extension JournalFragment {
  init(_ row: StoredRow) throws(UnreadableRow) {
    self.init(
      first: try row.integer(.first), last: try row.integer(.last), tenant: try row.tenantIfAny(),
      sessionID: try row.id(.session),
      taskID: try row.idIfAny(.task),
      tags: try row.documentIfAny(.eventTags) { document throws(RecordFault) in
        try Document.read(TaskTags.self, document)
      }, time: try row.time(.time), bytes: try row.content(.stream))
  }
}

extension RowMapping<JournalFragment> {
  static let fragment = RowMapping(
    .journal,
    [
      Column(.first) { fragment, _ in .integer(fragment.first) },
      Column(.last) { fragment, _ in .integer(fragment.last) },
      Column(.tenant) { fragment, _ in .ifAny(fragment.tenant) { .string($0.name) } },
      Column(.session) { fragment, _ in .id(fragment.sessionID) },
      Column(.task) { fragment, _ in .ifAny(fragment.taskID) { .id($0) } },
      Column(.time) { fragment, _ in .integer(fragment.time?.microseconds ?? 0) },
      Column(.stream) { fragment, box in box.sealed(fragment.bytes, .stream) },
      Column(.tags) { fragment, box in .ifAny(fragment.tags) { box.sealed(Document.write($0), .eventTags) } },
    ])
}

/// A reply, with the keyed hash of its request in place of the digest.
struct ReplyRow {
  let reply: IdempotentReply
  let fingerprint: [UInt8]

  init(_ row: StoredRow) throws(UnreadableRow) {
    guard let fingerprint = try row.blobIfAny(.fingerprint) else {
      throw row.fault(.fingerprint, "is missing")
    }
    self.fingerprint = fingerprint
    reply = IdempotentReply(
      key: IdempotencyKey(tenant: try row.tenant(), text: try row.text(.replyKey)), digest: [],
      status: Int(try row.integer(.status)),
      contentType: try row.string(.contentType), location: try row.textIfAny(.replyLocation),
      body: try row.content(.reply), createdAt: try row.time(.created))
  }
}

/// A reply with the session that it is about. The replies of an ephemeral session are deleted with its bodies.
struct SessionReply {
  let reply: IdempotentReply
  let session: SessionID?
}

extension RowMapping<SessionReply> {
  static let reply = RowMapping(
    .idempotency,
    [
      Column(.tenant) { row, _ in .string(row.reply.key.tenant.name) },
      Column(.key) { row, box in .blob(box.names.name(row.reply.key)) },
      Column(.name) { row, box in box.sealed(row.reply.key.text, .replyKey) },
      Column(.fingerprint) { row, box in .blob(box.requests.digest(of: row.reply.digest)) },
      Column(.status) { row, _ in .integer(row.reply.status) },
      Column(.contentType) { row, _ in .string(row.reply.contentType) },
      Column(.location) { row, box in .ifAny(row.reply.location) { box.sealed($0, .replyLocation) } },
      Column(.body) { row, box in box.sealed(row.reply.body, .reply) },
      Column(.created) { row, _ in .time(row.reply.createdAt) },
      Column(.session) { row, _ in .ifAny(row.session) { .id($0) } },
    ])
}

extension TransferSession {
  init(_ row: StoredRow) throws(UnreadableRow) {
    let (id, createdAt): (SessionID, Timestamp) = (try row.id(.id), try row.time(.created))
    let state: SessionState = try row.choice(.state)
    self = try row.document(.session) { document throws(RecordFault) in
      try TransferSession(document: document, id: id, createdAt: createdAt, state: state)
    }
  }
}

extension RowMapping<TransferSession> {
  static let session = RowMapping(
    .session,
    [
      Column(.id) { session, _ in .id(session.id) },
      Column(.created) { session, _ in .time(session.createdAt) },
      Column(.state) { session, _ in .string(session.state.rawValue) },
      Column(.document) { session, box in box.sealed(session.document, .session) },
      Column(.type) { session, _ in .string(session.type.rawValue) },
      Column(.tenant) { session, _ in .string(session.tenant.name) },
    ])
}

extension NamedConfiguration {
  init(_ row: StoredRow) throws(UnreadableRow) {
    self.init(
      name: ConfigurationName(tenant: try row.tenant(), text: try row.text(.configurationName)),
      configuration: try row.document(.configuration) { document throws(RecordFault) in
        try Document.read(SessionConfiguration.self, document)
      }, createdAt: try row.time(.created), updatedAt: try row.time(.updated))
  }
}

extension RowMapping<NamedConfiguration> {
  static let configuration = RowMapping(
    .configuration,
    [
      Column(.tenant) { named, _ in .string(named.name.tenant.name) },
      Column(.key) { named, box in .blob(box.names.name(named.name)) },
      Column(.name) { named, box in box.sealed(named.name.text, .configurationName) },
      Column(.document) { named, box in box.sealed(Document.write(named.configuration), .configuration) },
      Column(.created) { named, _ in .time(named.createdAt) },
      Column(.updated) { named, _ in .time(named.updatedAt) },
    ])
}

extension StoredCredential {
  init(_ row: StoredRow) throws(UnreadableRow) {
    let session: SessionID = try row.id(.session)
    self = try row.document(.credential) { document throws(RecordFault) in
      try Document.read(StoredCredential.self, document).checked(is: session)
    }
  }
}

extension RowMapping<StoredCredential> {
  static let credential = RowMapping(
    .credential,
    [
      Column(.session) { stored, _ in .id(stored.session) },
      Column(.space) { stored, box in .blob(box.names.name(stored.space, of: stored.session)) },
      Column(.sealed) { stored, box in box.sealed(stored) },
    ])
}

extension Cookie {
  init(_ row: StoredRow) throws(UnreadableRow) {
    let session: SessionID = try row.id(.session)
    self = try row.document(.cookie) { document throws(RecordFault) in
      try Document.read(StoredCookie.self, document).checked(is: session).cookie
    }
  }
}

extension RowMapping<StoredCookie> {
  static let cookie = RowMapping(
    .cookie,
    [
      Column(.session) { stored, _ in .id(stored.session) },
      Column(.key) { stored, box in .blob(box.names.name(stored.cookie.key, of: stored.session)) },
      Column(.sealed) { stored, box in box.sealed(stored) },
    ])
}

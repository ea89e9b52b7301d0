internal import GRDB
internal import HTTPCookies
internal import Ledger
internal import Records
internal import TransferModel

extension WebhookDelivery {
  init(_ row: StoredRow) throws(UnreadableRow) {
    let (url, secret) = (try row.text(.deliveryURL), try row.secretIfAny(.deliverySecret))
    self.init(
      id: try row.id(.id), sessionID: try row.id(.session), taskID: try row.idIfAny(.task),
      type: try row.choice(.type), webhook: url.isEmpty ? nil : Webhook(url: url, secret: secret),
      payload: try row.content(.payload), createdAt: try row.time(.created),
      decisionID: try row.idIfAny(.decision))
    state = try row.choice(.state)
    attempts = Int(try row.integer(.attempts))
    lastAttemptAt = try row.time(.lastAttempt)
    nextAttemptAt = try row.time(.nextAttempt)
    lastStatus = try row.integerIfAny(.lastStatus).map { Int($0) }
    lastError = try row.textIfAny(.deliveryError)
    finishedAt = try row.integerIfAny(.finished).map { Timestamp(microseconds: $0) }
  }
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

extension StoredFile {
  init(_ row: StoredRow) throws(UnreadableRow) {
    self.init(
      id: try row.id(.id), tenant: try row.tenant(), createdAt: try row.time(.created),
      size: try row.integer(.size), sha256: try row.string(.sha256),
      contentType: try row.textIfAny(.fileType), fromTask: try row.idIfAny(.task))
  }
}

extension JournalFragment {
  init(_ row: StoredRow) throws(UnreadableRow) {
    self.init(
      first: try row.integer(.first), last: try row.integer(.last), tenant: try row.tenantIfAny(),
      sessionID: try row.id(.session),
      taskID: try row.idIfAny(.task), time: try row.time(.time), bytes: try row.content(.stream))
  }
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

extension TransferSession {
  init(_ row: StoredRow) throws(UnreadableRow) {
    let (id, createdAt): (SessionID, Timestamp) = (try row.id(.id), try row.time(.created))
    let state: SessionState = try row.choice(.state)
    self = try row.document(.session) { document throws(RecordFault) in
      try TransferSession(document: document, id: id, createdAt: createdAt, state: state)
    }
  }
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

extension StoredCredential {
  init(_ row: StoredRow) throws(UnreadableRow) {
    let session: SessionID = try row.id(.session)
    self = try row.document(.credential) { document throws(RecordFault) in
      try Document.read(StoredCredential.self, document).checked(is: session)
    }
  }
}

extension Cookie {
  init(_ row: StoredRow) throws(UnreadableRow) {
    let session: SessionID = try row.id(.session)
    self = try row.document(.cookie) { document throws(RecordFault) in
      try Document.read(StoredCookie.self, document).checked(is: session).cookie
    }
  }
}

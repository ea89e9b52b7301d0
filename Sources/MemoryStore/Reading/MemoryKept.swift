internal import HTTPCookies
internal import TransferModel
internal import TransferStore

/// What is kept beside the tasks.
struct MemoryKept: KeptRecords {
  let store: MemoryStore

  func sessions() async throws(StoreError) -> [(session: TransferSession, lastIdentifier: Int)] {
    try store.readDisk { $0.sessions() }.map { ($0.session, $0.lastIdentifier) }
  }

  func session(_ id: SessionID) async throws(StoreError) -> TransferSession? {
    try store.read(of: id) { reader throws(StoreError) in try reader.session(id) }
  }

  func sessionsWithStorage() async throws(StoreError) -> [SessionID] {
    try store.readDisk { $0.sessionsWithStorage() }
  }

  func storage(of session: SessionID) async throws(StoreError) -> StoredStorage {
    try store.readDisk { $0.storage(of: session) }
  }

  func configuration(_ name: ConfigurationName) async throws(StoreError) -> NamedConfiguration? {
    try store.readDisk { reader throws(StoreError) in try reader.configuration(name) }
  }

  func configurations(
    of tenant: Tenant, after: String?, limit: Int
  ) async throws(StoreError) -> [NamedConfiguration] {
    try store.readDisk { $0.configurations(of: tenant, after: after, limit: limit) }
  }

  func file(_ id: FileID) async throws(StoreError) -> StoredFile? {
    try store.readDisk { reader throws(StoreError) in try reader.file(id) }
  }

  func files(
    of tenant: Tenant, after: FileID?, limit: Int
  ) async throws(StoreError) -> [StoredFile] {
    try store.readDisk { $0.files(of: tenant, after: after, limit: limit) }
  }

  func idempotentReply(_ key: IdempotencyKey) async throws(StoreError) -> IdempotentReply? {
    try store.find { reader throws(StoreError) in try reader.reply(key) }
  }
}

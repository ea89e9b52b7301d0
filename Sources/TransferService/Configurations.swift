internal import Synchronization
internal import TransferModel
internal import TransferStore

/// What can be done with named configurations.
final class Configurations: Sendable {
  private let recorder: Recorder
  private let now: @Sendable () -> Timestamp
  /// Names of those that are being kept.
  private let underWay = Mutex<Set<ConfigurationName>>([])

  init(recorder: Recorder, now: @escaping @Sendable () -> Timestamp) {
    self.recorder = recorder
    self.now = now
  }

  func configuration(_ name: ConfigurationName) async throws(ServiceError) -> NamedConfiguration {
    guard let named = try await configurationIfAny(name) else { throw .configurationNotFound }
    return named
  }

  /// nil where none has the name.
  func configurationIfAny(_ name: ConfigurationName) async throws(ServiceError) -> NamedConfiguration? {
    do throws(StoreError) { return try await recorder.store.configuration(name) } catch {
      throw .store(error)
    }
  }

  /// A page of a tenant's named configurations, by name.
  func page(
    of tenant: Tenant, after: String?, limit: Int
  ) async throws(ServiceError) -> [NamedConfiguration] {
    do throws(StoreError) {
      return try await recorder.store.configurations(of: tenant, after: after, limit: limit)
    } catch {
      throw .store(error)
    }
  }

  /// Keeps a configuration under a name that none has.
  /// - Parameter reply: what repeats under an Idempotency-Key get.
  func create(
    _ name: ConfigurationName, _ configuration: SessionConfiguration,
    reply: @Sendable (NamedConfiguration) -> IdempotentReply?
  ) async throws(ServiceError) -> NamedConfiguration {
    guard underWay.withLock({ $0.insert(name).inserted }) else { throw .configurationExists }
    defer { underWay.withLock { _ = $0.remove(name) } }
    guard try await configurationIfAny(name) == nil else { throw .configurationExists }
    let named = NamedConfiguration(
      name: name, configuration: configuration, createdAt: now(), updatedAt: now())
    var change = StoreChange()
    change.configurations = [named]
    change.idempotentReply = reply(named)
    try await recorder.write(change)
    return named
  }

  /// Keeps a configuration in place of what had the name, where `isExpected` finds that as the client knows it.
  /// Sessions have copies: none of them changes.
  func replace(
    _ name: ConfigurationName, _ configuration: SessionConfiguration,
    if isExpected: @Sendable (NamedConfiguration?) -> Bool
  ) async throws(ServiceError) -> (named: NamedConfiguration, isNew: Bool) {
    guard underWay.withLock({ $0.insert(name).inserted }) else { throw .configurationChanging }
    defer { underWay.withLock { _ = $0.remove(name) } }
    let known = try await configurationIfAny(name)
    guard isExpected(known) else { throw .preconditionFailed }
    let named = NamedConfiguration(
      name: name, configuration: configuration, createdAt: known?.createdAt ?? now(), updatedAt: now())
    var change = StoreChange()
    change.configurations = [named]
    try await recorder.write(change)
    return (named, known == nil)
  }

  func delete(_ name: ConfigurationName) async throws(ServiceError) {
    // One that cannot be read can be deleted: whoever asks for that knows what it loses.
    do throws(ServiceError) { _ = try await configuration(name) } catch .storedDataUnreadable {}
    var change = StoreChange()
    change.deletedConfigurations = [name]
    try await recorder.write(change)
  }
}

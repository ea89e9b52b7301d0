internal import Ledger
internal import TransferModel

/// What can be done with named configurations.
struct Configurations: Sendable {
  let recorder: Recorder
  let now: @Sendable () -> Timestamp

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
    guard try await configurationIfAny(name) == nil else { throw .configurationExists }
    let named = NamedConfiguration(
      name: name, configuration: configuration, createdAt: now(), updatedAt: now())
    var change = Self.change(named, inPlaceOf: nil)
    change.answer(reply(named))
    do throws(ServiceError) { try await recorder.write(change) } catch .preconditionFailed {
      throw .configurationExists
    }
    return named
  }

  /// Keeps a configuration in place of what had the name, where `isExpected` finds that as the client knows it.
  /// Sessions have copies: none of them changes.
  func replace(
    _ name: ConfigurationName, _ configuration: SessionConfiguration,
    if isExpected: @Sendable (NamedConfiguration?) -> Bool
  ) async throws(ServiceError) -> (named: NamedConfiguration, isNew: Bool) {
    try await recorder.write { () async throws(ServiceError) in
      let known = try await configurationIfAny(name)
      guard isExpected(known) else { throw .preconditionFailed }
      var named = NamedConfiguration(
        name: name, configuration: configuration, createdAt: known?.createdAt ?? now(), updatedAt: now())
      // The time tells one version from the next, also where a clock was set back.
      if let known {
        named.updatedAt = max(named.updatedAt, Timestamp(microseconds: known.updatedAt.microseconds + 1))
      }
      return (Self.change(named, inPlaceOf: known), (named, known == nil))
    }
  }

  private static func change(
    _ named: NamedConfiguration, inPlaceOf known: NamedConfiguration?
  ) -> StoreChange {
    var change = StoreChange()
    change.configurations = [named]
    change.conditions = [.revision(named.name, updatedAt: known?.updatedAt)]
    return change
  }

  func delete(_ name: ConfigurationName) async throws(ServiceError) {
    // One that cannot be read can be deleted: whoever asks for that knows what it loses.
    do throws(ServiceError) { _ = try await configuration(name) } catch .storedDataUnreadable {}
    var change = StoreChange()
    change.deletedConfigurations = [name]
    try await recorder.write(change)
  }
}

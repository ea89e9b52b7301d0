internal import Ledger
internal import TransferModel

/// Use cases of named configurations.
struct Configurations: Sendable {
  let recorder: ChangeRecorder
  let now: @Sendable () -> Timestamp

  func configuration(_ name: ConfigurationName) async throws(ServiceError) -> NamedConfiguration {
    guard let named = try await configurationIfAny(name) else { throw .configurationNotFound }
    return named
  }

  /// - Returns: `nil` if no configuration has the name.
  func configurationIfAny(_ name: ConfigurationName) async throws(ServiceError) -> NamedConfiguration? {
    do throws(LedgerError) { return try await recorder.store.configuration(name) } catch {
      throw .store(error)
    }
  }

  /// Returns a page of a tenant's named configurations.
  /// - Parameter order: the order of creation, or `nil` for the order of the names.
  func page(
    of tenant: Tenant, after: ConfigurationCursor?, order: ListOrder?, limit: Int
  ) async throws(ServiceError) -> [NamedConfiguration] {
    do throws(LedgerError) {
      return try await recorder.store.configurations(
        of: tenant, after: after, order: order, limit: limit)
    } catch {
      throw .store(error)
    }
  }

  /// Stores a configuration under an unused name.
  /// - Parameter reply: makes the reply that is stored under the Idempotency-Key.
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

  /// Stores a configuration under a new or existing name, if `isExpected` accepts the stored one (If-Match). Sessions keep
  /// copies, so no session changes.
  func replace(
    _ name: ConfigurationName, _ configuration: SessionConfiguration,
    if isExpected: @Sendable (NamedConfiguration?) -> Bool
  ) async throws(ServiceError) -> (named: NamedConfiguration, isNew: Bool) {
    try await recorder.write { () async throws(ServiceError) in
      let known = try await configurationIfAny(name)
      guard isExpected(known) else { throw .preconditionFailed }
      var named = NamedConfiguration(
        name: name, configuration: configuration, createdAt: known?.createdAt ?? now(), updatedAt: now())
      // `updatedAt` serves as the version, so it must grow even if the clock was set back.
      if let known {
        named.updatedAt = max(named.updatedAt, Timestamp(microseconds: known.updatedAt.microseconds + 1))
      }
      return (Self.change(named, inPlaceOf: known), (named, known == nil))
    }
  }

  private static func change(
    _ named: NamedConfiguration, inPlaceOf known: NamedConfiguration?
  ) -> LedgerChange {
    var change = LedgerChange()
    change.configurations = [named]
    change.conditions = [.revision(named.name, updatedAt: known?.updatedAt)]
    return change
  }

  func delete(_ name: ConfigurationName) async throws(ServiceError) {
    // An unreadable configuration can be deleted too.
    do throws(ServiceError) { _ = try await configuration(name) } catch .storedDataUnreadable {}
    var change = LedgerChange()
    change.deletedConfigurations = [name]
    try await recorder.write(change)
  }
}

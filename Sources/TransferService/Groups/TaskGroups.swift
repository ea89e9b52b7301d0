package import JSON
internal import Ledger
package import TransferModel

/// A group with the counts of its tasks.
package struct CountedGroup: Sendable {
  package let group: TaskGroup
  package let counts: GroupCounts
}

extension CountedGroup: JSONEncodable {
  package func encode(into writer: inout JSONWriter) {
    writer.object { group.encodeMembers(into: &$0, counts) }
  }
}

/// Use cases of groups of tasks.
struct TaskGroups: Sendable {
  let pages: EventPages
  let completer: GroupCompleter

  private var runtime: SessionRuntime { pages.streams.runtime }
  private var store: any Ledger { runtime.recorder.store }

  func group(_ key: TaskGroupKey) async throws(ServiceError) -> CountedGroup {
    do throws(LedgerError) {
      if let group = try await store.group(key) { return try await counted(group) }
    } catch {
      throw .store(error)
    }
    throw .groupNotFound
  }

  /// Returns the counts of a tenant's tasks, without those of ephemeral sessions of other services.
  func counts(ofTenant tenant: Tenant) async throws(ServiceError) -> GroupCounts {
    do throws(LedgerError) { return try await store.counts(ofTenant: tenant) } catch { throw .store(error) }
  }

  /// Returns a page of a tenant's groups.
  func page(
    of tenant: Tenant, after: TaskGroup?, order: ListOrder, limit: Int
  ) async throws(ServiceError) -> [CountedGroup] {
    do throws(LedgerError) {
      var page: [CountedGroup] = []
      for group in try await store.groups(of: tenant, after: after, order: order, limit: limit) {
        page.append(try await counted(group))
      }
      return page
    } catch {
      throw .store(error)
    }
  }

  /// The counts of a completed group are in its row, because its tasks may have been deleted.
  private func counted(_ group: TaskGroup) async throws(LedgerError) -> CountedGroup {
    if let counts = group.finalCounts { return CountedGroup(group: group, counts: counts) }
    return CountedGroup(group: group, counts: try await store.counts(of: group.key))
  }

  /// Closes a group: it accepts no new tasks, and completes when its tasks have ended.
  func close(_ key: TaskGroupKey, at time: Timestamp) async throws(ServiceError) -> CountedGroup {
    _ = try await group(key)
    var change = LedgerChange()
    change.closedGroups = [(key, time)]
    try await runtime.recorder.write(change)
    do throws(LedgerError) { try await completer.complete(key) } catch { completer.add([key]) }
    return try await group(key)
  }

  /// Waits until all tasks of a group have ended, `seconds` have passed, or the service begins to stop.
  func waitForEnd(of key: TaskGroupKey, seconds: Double) async throws(ServiceError) -> CountedGroup {
    let end = runtime.deadlines.uptimeNow.advanced(by: .seconds(seconds))
    while true {
      // Read first: an end that is committed after this is an event after it.
      let filter = EventFilter(
        after: store.lastSequence, types: [.taskDidComplete, .groupDidComplete], wantsProgress: false,
        wantsData: false, tags: TaskTags(group: key.name))
      let isOver = try await isOver(key)
      let rest = runtime.deadlines.uptimeNow.duration(to: end)
      guard !isOver, rest > .zero, !runtime.waiters.isDraining else { return try await group(key) }
      try await pages.waitForEvent(.tenant(key.tenant), of: nil, filter, rest / .seconds(1))
    }
  }

  /// Returns whether no task of the group will end any longer, and the group will not complete by itself. It counts nothing, because it is
  /// called after each end of a task of the group.
  private func isOver(_ key: TaskGroupKey) async throws(ServiceError) -> Bool {
    do throws(LedgerError) {
      switch try await store.group(key)?.state {
      case .completed, nil: return true
      case .closed: return false
      case .open: return try await !store.hasUnfinishedTasks(key)
      }
    } catch {
      throw .store(error)
    }
  }

  /// Returns those of a tenant's groups that accept no new tasks.
  func closed(among names: [String], of tenant: Tenant) async throws(ServiceError) -> [String] {
    let keys = Set(names.map { TaskGroupKey(tenant: tenant, name: $0) })
    do throws(LedgerError) { return try await store.closedGroups(among: keys).map(\.name) } catch {
      throw .store(error)
    }
  }
}

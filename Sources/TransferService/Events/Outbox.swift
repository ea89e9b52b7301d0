internal import TransferCore
internal import TransferModel
internal import TransferStore

/// The messages that are to be delivered to webhooks, as whoever delivers them sees them.
struct Outbox: Sendable {
  let room: MachineRoom
  let now: @Sendable () -> Timestamp

  private var store: any TransferStore { room.recorder.store }

  /// Messages whose next attempt is due.
  func due(limit: Int) async throws(ServiceError) -> [WebhookDelivery] {
    do throws(StoreError) { return try await store.dueDeliveries(at: now(), limit: limit) } catch {
      throw .store(error)
    }
  }

  /// When the next attempt is due; nil where there are no messages.
  func nextTime() async throws(ServiceError) -> Timestamp? {
    do throws(StoreError) { return try await store.nextDeliveryTime() } catch { throw .store(error) }
  }

  /// A message is about to be sent. Returns when what has happened so far is on the disk: one that it wakes will look.
  func willAttempt(_ delivery: WebhookDelivery) async {
    guard delivery.type == .sessionHandleEvents else { return }
    _ = await room.visitAndWait(delivery.sessionID) { machine, step in
      machine.take(.attempts(delivery.id), &step)
    }
  }

  /// Writes what came of attempts; `committed` is called once that is on the disk.
  func record(_ deliveries: [WebhookDelivery], committed: @escaping @Sendable () -> Void) {
    let groups = Dictionary(grouping: deliveries, by: \.sessionID).sorted { $0.key < $1.key }
    let left = Countdown(from: groups.count + 1, committed)
    for (session, deliveries) in groups {
      let settled = deliveries.filter { $0.state != .pending }.map(\.id)
      let found: Void? = room.visit(session) { machine, step in
        step.attempts = deliveries
        if !settled.isEmpty, !Flaw.settlesNoMessage.isPresent { machine.take(.settled(settled), &step) }
        step.committed.append { left.count() }
      }
      guard found == nil else { continue }
      // The session cannot be read, or is gone.
      var change = StoreChange()
      change.updatedDeliveries = deliveries
      room.recorder.record(change) { left.count() }
    }
    left.count()
  }
}

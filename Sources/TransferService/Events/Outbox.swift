internal import Cluster
internal import EventLoop
internal import Ledger
internal import TransferCore
internal import TransferModel

/// The messages that are to be delivered to webhooks, as whoever delivers them sees them.
struct Outbox: Sendable {
  let room: MachineRoom
  let now: @Sendable () -> Timestamp

  private var store: any Ledger { room.recorder.store }

  /// Messages whose next attempt is due.
  func due(limit: Int) async throws(ServiceError) -> [WebhookDelivery] {
    do throws(StoreError) {
      let due = try await store.dueDeliveries(at: now(), limit: limit)
      // A session that is on its way here is to hear of their end. Once it is there, the dispatcher looks again.
      return due.filter { room.cluster.holds($0.sessionID.shard) || room.session($0.sessionID) != nil }
    } catch {
      throw .store(error)
    }
  }

  /// The webhook that receives a message; nil if its session cannot be read.
  func webhook(of delivery: WebhookDelivery) -> Webhook? {
    delivery.webhook ?? room.session(delivery.sessionID)?.delegate?.webhook
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

  /// Writes what came of attempts; `settled` is called once that is on the disk, or another process's to find out.
  func record(_ deliveries: [WebhookDelivery], settled: @escaping @Sendable () -> Void) {
    let groups = Dictionary(grouping: deliveries, by: \.sessionID).sorted { $0.key < $1.key }
    let left = Countdown(from: groups.count + 1, settled)
    for (session, deliveries) in groups {
      let settled = deliveries.filter { $0.state != .pending }.map(\.id)
      let found: Void? = room.visit(session) { machine, step in
        step.attempts = deliveries
        if !settled.isEmpty { machine.take(.settled(settled), &step) }
        step.settled.append { _ in left.count() }
      }
      guard found == nil else { continue }
      // The session cannot be read, or is gone.
      var change = StoreChange()
      change.updatedDeliveries = deliveries
      change.owner = session
      room.recorder.record(change) { _ in left.count() }
    }
    left.count()
  }
}

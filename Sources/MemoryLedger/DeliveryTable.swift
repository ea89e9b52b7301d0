internal import Ledger
internal import TransferModel

/// Messages, in the order in which they were written. A plain value.
struct DeliveryTable: Sendable {
  private(set) var rows = SortedTable<Int, WebhookDelivery>()
  /// The places of those that are yet to be delivered.
  private(set) var pending = SortedTable<Int, Void>()
  /// Of those, how many hold what they tell of.
  private(set) var pendingOfTask: [TaskID: Int] = [:]
  private(set) var pendingWakeUps: [SessionID: Int] = [:]
  private var places: [DeliveryID: Int] = [:]
  private var next = 0

  func has(_ id: DeliveryID) -> Bool { places[id] != nil }

  /// Where a message is that is settled; nil where it is not, or there is none.
  func settledPlace(of id: DeliveryID) -> Int? {
    places[id].flatMap { rows[$0]?.state == .pending ? nil : $0 }
  }

  mutating func insert(_ delivery: WebhookDelivery) {
    let place = next
    next += 1
    rows.set(delivery.asQueued, for: place)
    places[delivery.id] = place
    if delivery.state == .pending { hold(delivery, place, by: 1) }
  }

  mutating func update(_ delivery: WebhookDelivery) {
    guard let place = places[delivery.id], let before = rows[place] else { return }
    rows.change(place) { $0.goOn(as: delivery) }
    if before.state == .pending { hold(before, place, by: -1) }
    if delivery.state == .pending { hold(before, place, by: 1) }
  }

  /// Counts a message that is yet to be delivered, or is no more.
  private mutating func hold(_ delivery: WebhookDelivery, _ place: Int, by count: Int) {
    if count > 0 { pending.set((), for: place) } else { pending.remove(place) }
    if let task = delivery.taskID {
      let left = (pendingOfTask[task] ?? 0) + count
      pendingOfTask[task] = left == 0 ? nil : left
    } else if delivery.type == .sessionHandleEvents {
      let left = (pendingWakeUps[delivery.sessionID] ?? 0) + count
      pendingWakeUps[delivery.sessionID] = left == 0 ? nil : left
    }
  }

  /// Takes settled messages away.
  mutating func remove(_ settled: some Sequence<Int>) {
    let gone = Set(settled)
    for place in gone {
      if let delivery = rows[place] { places[delivery.id] = nil }
    }
    rows.remove(gone)
  }
}

internal import FoundationEssentials
internal import GRDB
package import Ledger
internal import Records
package import TransferModel

/// The deliveries of webhook messages, and the tenants' endpoints.
extension SQLiteLedger {
  /// A keyed hash of the URL without user info, query and fragment.
  package func destination(of url: String, for tenant: Tenant) -> DestinationID {
    readers.box.names.destination(of: url, for: tenant)
  }

  package func hasPendingDelivery(_ task: TaskID) async throws(LedgerError) -> Bool {
    try await readers.read { database in
      try Bool.fetchOne(database.prepared(.hasPendingDelivery), arguments: [Data(task.bytes)])
    } ?? false
  }

  package func pendingDestinations(
    after: DestinationID?, limit: Int
  ) async throws(LedgerError) -> [PendingDestination] {
    try await readers.read { database in
      try Row.fetchAll(
        database.prepared(.pendingDestinations), arguments: [Data(after?.bytes ?? []), limit]
      ).compactMap { row in
        let id: Data = row[0]
        return DestinationID(bytes: Array(id)).map {
          PendingDestination(
            $0, of: Tenant(name: row[1]), nextAttemptAt: Timestamp(microseconds: row[2]))
        }
      }
    }
  }

  package func dueDeliveries(_ query: DueDeliveryQuery) async throws(LedgerError) -> DueDeliveries {
    let reader = readers.reader(of: .delivery)
    let (owner, destination) = (queue.ownerFilter, Data(query.destination.bytes))
    return try await readers.read { database in
      var found = DueDeliveries([], isLast: true, nextAttemptAt: nil)
      func add(_ source: Query, _ arguments: StatementArguments) throws {
        let statement = try database.prepared(source)
        let columns = source.columns(of: statement)
        let rows = try Row.fetchCursor(statement, arguments: arguments)
        while let row = try rows.next() {
          // Compared before anything is decrypted.
          if let id = DeliveryID(bytes: row.bytes(.id)), query.excluded.contains(id) { continue }
          let stored = StoredRow(row: row, kind: .delivery, box: reader.box, columns: columns)
          guard found.deliveries.count < query.limit else {
            found.isLast = false
            return
          }
          do throws(UnreadableRow) { found.deliveries.append(try WebhookDelivery(stored)) } catch {
            reader.unreadable.add(error)
          }
        }
      }
      try add(.dueDeliveries, [destination, query.time.microseconds, owner])
      if query.includesFutureAttempts, found.isLast {
        // A small correction of the clock does not make a delivery due.
        let future = query.time.adding(seconds: 60).microseconds
        try add(.futureDeliveries, [destination, query.time.microseconds, owner, future])
      }
      let excluded = query.excluded.union(found.deliveries.map(\.id))
      found.nextAttemptAt = try Self.nextAttempt(
        database, [destination, query.time.microseconds, owner], except: excluded)
      return found
    }
  }

  private static func nextAttempt(
    _ database: Database, _ arguments: StatementArguments, except excluded: Set<DeliveryID>
  ) throws -> Timestamp? {
    let rows = try Row.fetchCursor(database.prepared(.laterDeliveries), arguments: arguments)
    while let row = try rows.next() {
      if let id = DeliveryID(bytes: row.bytes(.id)), excluded.contains(id) { continue }
      return Timestamp(microseconds: row[.nextAttempt])
    }
    return nil
  }

  package func delivery(_ id: DeliveryID) async throws(LedgerError) -> WebhookDelivery? {
    let reader = readers.reader(of: .delivery)
    return try await readers.read { database in
      try reader.one(database, .delivery, [Data(id.bytes)]) {
        row throws(UnreadableRow) in try WebhookDelivery(row)
      }
    }
  }

  package func deliveries(_ query: DeliveryQuery) async throws(LedgerError) -> [WebhookDelivery] {
    let reader = readers.reader(of: .delivery)
    let isNewestFirst = query.order == .newest
    let source: Query =
      switch (query.task, query.endpoint, query.state) {
      case (_?, _, _): isNewestFirst ? .newestDeliveriesOfTask : .deliveriesOfTask
      case (nil, _?, _?): isNewestFirst ? .newestDeliveriesOfEndpointAndState : .deliveriesOfEndpointAndState
      case (nil, _?, nil): isNewestFirst ? .newestDeliveriesOfEndpoint : .deliveriesOfEndpoint
      case (nil, nil, _?): isNewestFirst ? .newestDeliveriesOfState : .deliveriesOfState
      case (nil, nil, nil): isNewestFirst ? .newestDeliveriesOfTenant : .deliveriesOfTenant
      }
    let range = query.order.range(of: DeliveryID.all, after: query.after, since: query.since)
    return try await readers.read { database in
      try reader.all(
        database, source,
        [
          query.tenant.name, Data(range.low.bytes), Data(range.high.bytes),
          query.endpoint.map { Data($0.bytes) },
          query.task.map { Data($0.bytes) }, query.state?.rawValue, query.since?.microseconds,
        ], limit: query.limit
      ) { row throws(UnreadableRow) in try WebhookDelivery(row) }
    }
  }

  package func pendingBackgroundDeliveries() async throws(LedgerError) -> [PendingDelivery] {
    let reader = readers.reader(of: .delivery)
    return try await readers.read { database in
      try reader.all(database, .pendingBackgroundDeliveries) { row throws(UnreadableRow) in
        let delivery = try WebhookDelivery(row)
        return PendingDelivery(id: delivery.id, sessionID: delivery.sessionID, type: delivery.type)
      }
    }
  }

  package func endpoints() async throws(LedgerError) -> [WebhookEndpoint] {
    let reader = readers.reader(of: .endpoint)
    return try await readers.read { database in
      try reader.all(database, .endpoints) { row throws(UnreadableRow) in try WebhookEndpoint(row) }
    }
  }
}

extension BlindIndex {
  func destination(of url: String, for tenant: Tenant) -> DestinationID {
    let hash = name(Webhook.listed(url), owner: Array(tenant.name.utf8), of: .delivery)
    guard let id = DestinationID(bytes: hash) else { preconditionFailure("a hash has 16 bytes") }
    return id
  }
}

/// A destination with pending deliveries.
package struct PendingDestination: Sendable, Hashable {
  package let id: DestinationID
  package let tenant: Tenant
  /// The earliest next attempt of the deliveries that wait for no earlier ones; `nil` if it is not known.
  package let nextAttemptAt: Timestamp?

  package init(_ id: DestinationID, of tenant: Tenant, nextAttemptAt: Timestamp? = nil) {
    self.id = id
    self.tenant = tenant
    self.nextAttemptAt = nextAttemptAt
  }

  /// Returns the one of two descriptions of a destination whose next attempt comes first.
  package func earlier(of other: PendingDestination) -> PendingDestination {
    guard let own = nextAttemptAt, let time = other.nextAttemptAt else {
      return PendingDestination(id, of: tenant)
    }
    return own <= time ? self : other
  }
}

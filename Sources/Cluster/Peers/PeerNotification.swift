internal import JSON
package import TransferModel

/// A notification of one service to the others about its commit.
package enum PeerNotification: Sendable, Equatable {
  /// The webhook endpoints have changed.
  case endpoints
  /// The ledger has new messages to these destinations; `nil` for any destination.
  case messages(to: [PendingDestination]?)

  /// The most destinations that a notification names.
  private static let namedDestinations = 500

  /// Returns the notification of new messages.
  package static func messages(_ deliveries: [WebhookDelivery]) -> PeerNotification {
    let destinations = Set(deliveries.map { PendingDestination($0.destination, of: $0.tenant) })
    guard destinations.count <= namedDestinations else { return .messages(to: nil) }
    return .messages(to: destinations.sorted { $0.id < $1.id })
  }

  var json: [UInt8] {
    var writer = JSONWriter(capacity: 256)
    writer.object { writer in
      switch self {
      case .endpoints: writer.field("endpoints", true)
      case .messages(let destinations?):
        writer.arrayField("destinations", destinations) { writer, destination in
          writer.object { writer in
            writer.field("id", destination.id.description)
            writer.field("tenant", destination.tenant.name)
          }
        }
      case .messages(nil): break
      }
    }
    return writer.bytes
  }

  init?(json: [UInt8]) {
    guard let value = try? JSONParser.parse(json) else { return nil }
    if value["endpoints"]?.bool == true {
      self = .endpoints
      return
    }
    guard let items = value["destinations"]?.elements else {
      self = .messages(to: nil)
      return
    }
    self = .messages(
      to: items.compactMap { item in
        guard let id = item["id"]?.string.flatMap({ DestinationID($0) }), let tenant = item["tenant"]?.string
        else { return nil }
        return PendingDestination(id, of: Tenant(name: tenant))
      })
  }
}

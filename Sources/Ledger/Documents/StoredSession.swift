internal import JSON
package import TransferModel

extension TransferSession {
  package var document: [UInt8] {
    precondition(!isOutline, "an outline must not be stored")
    var writer = JSONWriter()
    writer.object { writer in
      writer.field(DocumentVersion.member, DocumentVersion.current)
      writer.field("type", type.rawValue)
      writer.field("description", description)
      if let identifier { writer.field("identifier", identifier) }
      if tenant != .default { writer.field("tenant", tenant.name) }
      if owesFinishedEvents { writer.field("owesFinishedEvents", true) }
      writer.objectField("configuration") { configuration.encodeMembers(into: &$0, withSecrets: true) }
      writer.key("delegate")
      guard let delegate else { return writer.null() }
      writer.object { delegate.encodeMembers(into: &$0, withSecrets: true) }
    }
    return writer.bytes
  }

  package init(
    id: SessionID, createdAt: Timestamp, state: SessionState, stored: inout StoredObject
  ) throws(StoredObject.Fault) {
    var delegate: SessionDelegate?
    if var calls = try stored.objectIfAny("delegate") { delegate = try SessionDelegate(stored: &calls) }
    var properties = try stored.object("configuration")
    let configuration = try SessionConfiguration(stored: &properties)
    try properties.finish()
    self.init(
      id: id, type: try stored.choice("type"), createdAt: createdAt,
      description: try stored.stringIfAny("description"), configuration: configuration, delegate: delegate,
      identifier: try stored.stringIfAny("identifier"),
      tenant: try stored.stringIfAny("tenant").map { Tenant(name: $0) } ?? .default)
    self.state = state
    owesFinishedEvents = try stored.boolIfAny("owesFinishedEvents") ?? false
  }
}

extension NamedConfiguration {
  package var document: [UInt8] {
    var writer = JSONWriter()
    writer.object { writer in
      writer.field(DocumentVersion.member, DocumentVersion.current)
      configuration.encodeMembers(into: &writer, withSecrets: true)
    }
    return writer.bytes
  }
}

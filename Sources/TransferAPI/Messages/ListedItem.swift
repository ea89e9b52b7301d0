internal import JSON
internal import TransferModel

/// A resource in a list, of this service or another.
struct ListedItem<Kind: IDKind>: JSONEncodable {
  let id: ID<Kind>
  let json: [UInt8]

  init(id: ID<Kind>, json: [UInt8]) { (self.id, self.json) = (id, json) }

  /// Reads a resource in the list of another service; `nil` if it has no id.
  init?(_ value: JSONValue) {
    guard let id = value["id"]?.string.flatMap({ ID<Kind>($0) }) else { return nil }
    var writer = JSONWriter()
    value.encode(into: &writer)
    self.init(id: id, json: writer.bytes)
  }

  func encode(into writer: inout JSONWriter) { writer.raw(json) }
}

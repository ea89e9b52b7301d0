internal import HTTPFields
internal import JSON

extension HTTPHeaders {
  /// The fields of a request or a response, as a stored document has them.
  /// - Parameter name: of the object's member that holds them; there are none where it is absent.
  init(_ name: String, of object: inout StoredObject) throws(StoredObject.Fault) {
    self.init()
    for member in try object.read(name, "an object", \.members) ?? [] {
      guard let text = member.value.string else {
        throw StoredObject.Fault(
          pointer: JSONPointer.appending(member.name, to: JSONPointer.appending(name, to: object.pointer)),
          reason: "must be a string, not \(member.value.kind)")
      }
      append(member.name, text)
    }
  }
}

internal import JSON
internal import TransferModel

/// The fields of a request or a response, as a stored document has them.
struct StoredFields {
  /// As they stand there.
  private(set) var plain = HTTPHeaders()
  private let name: String
  private let pointer: String
  private let box: SecretBox?

  /// - Parameter name: of the object's member that holds them; there are none where it is absent.
  init(_ name: String, of object: inout StoredObject) throws(StoredObject.Fault) {
    self.name = name
    pointer = object.pointer
    box = object.box
    for member in try object.read(name, "an object", \.members) ?? [] {
      guard let text = member.value.string else {
        throw StoredObject.Fault(
          pointer: JSONPointer.appending(member.name, to: JSONPointer.appending(name, to: pointer)),
          reason: "must be a string, not \(member.value.kind)")
      }
      plain.append(member.name, text)
    }
  }

  /// A request's: documents of version 1 hold those sealed that were known as secret then.
  func opened() throws(StoredObject.Fault) -> HTTPHeaders {
    guard let box else { return plain }
    var headers = HTTPHeaders()
    for field in plain.fields {
      guard PlaintextSecrets.isSecret(field.name) else {
        headers.append(field.name, field.value)
        continue
      }
      let fault = StoredObject.Fault(
        pointer: JSONPointer.appending(name, to: pointer), reason: StoredObject.isSealedOtherwise)
      headers.append(field.name, try box.opened(field.value, else: fault))
    }
    return headers
  }
}

extension SecretBox {
  /// What a document holds sealed.
  func opened(
    _ text: String, else fault: @autoclosure () -> StoredObject.Fault
  ) throws(StoredObject.Fault) -> String {
    guard let opened = open(text) else { throw fault() }
    return opened
  }
}

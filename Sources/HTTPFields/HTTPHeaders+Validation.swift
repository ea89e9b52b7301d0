package import JSON
internal import Limits

extension HTTPHeaders {
  /// The fields that only the service sets: the reserved headers of URLRequest that would break the framing.
  private static let reserved = [
    "Host", "Content-Length", "Transfer-Encoding", "Connection", "Upgrade", "TE", "Trailer",
  ]

  /// Parses the length of a streamed body.
  private static func streamLength(_ value: JSONValue) -> Int64? {
    guard let text = value.string, !text.isEmpty, text.utf8.allSatisfy({ (48...57).contains($0) }),
      let length = Int64(text), length <= Limits.streamBytes.value
    else { return nil }
    return length
  }

  /// Reads the fields of a request from an object of names and values. The service sets the fields for the framing.
  /// - Parameter isOfStream: whether the request's body is streamed. The client may then set `Content-Length`, once.
  package init(
    validating value: JSONValue, at pointer: String, _ violations: Violations, isOfStream: Bool = false
  ) {
    let length = "Content-Length"
    let refused = "must be given once, as a decimal number of bytes of at most \(Limits.streamBytes.value)"
    self.init(validating: value, at: pointer, violations) { name, value in
      guard isOfStream, Self.equal(length, name) else {
        return Self.reserved.contains { Self.equal($0, name) } ? "is set by Ferry; leave it out" : nil
      }
      return Self.streamLength(value) == nil ? refused : nil
    }
    guard isOfStream, let text = self[length] else { return }
    guard let bytes = Int64(text) else {
      violations.add(JSONPointer.appending(length, to: pointer), refused)
      return
    }
    for index in fields.indices where Self.equal(fields[index].name, length) {
      fields[index].value = String(bytes)
    }
  }

  /// Reads an object of names and values.
  /// - Parameter fault: returns a further fault of a field from its name and value; `nil` if there is none.
  package init(
    validating value: JSONValue, at pointer: String, _ violations: Violations,
    fault: (String, JSONValue) -> String?
  ) {
    self.init()
    guard let members = value.members else {
      violations.add(pointer, "must be an object of strings, not \(value.kind)")
      return
    }
    if members.count > Limits.fields.value {
      violations.exceed(pointer, "must have at most \(Limits.fields.value) fields, not \(members.count)")
    }
    var size = 0
    for member in members {
      let fieldSize = member.name.utf8.count + (member.value.string?.utf8.count ?? 0)
      size += fieldSize
      let place = JSONPointer.appending(member.name, to: pointer)
      if fieldSize > Limits.fieldBytes.value {
        violations.exceed(
          place,
          "name and value together must have at most \(Limits.fieldBytes.value) bytes, not \(fieldSize)")
      }
      if !Self.isValid(name: member.name) {
        violations.add(place, "is not a header field name (RFC 9110); use letters, digits and hyphens")
      } else if let fault = fault(member.name, member.value) {
        violations.add(place, fault)
      } else if let text = member.value.string, Self.isValid(value: text) {
        append(member.name, text)
      } else {
        let isString = member.value.string != nil
        violations.add(
          place,
          isString ? "must not contain control characters" : "must be a string, not \(member.value.kind)")
      }
    }
    if size > Limits.headBytes.value {
      violations.exceed(
        pointer, "all fields together must have at most \(Limits.headBytes.value) bytes, not \(size)")
    }
  }
}

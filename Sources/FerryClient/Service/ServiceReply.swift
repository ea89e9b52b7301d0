package import JSON

/// The status and the header fields of a reply.
package struct ServiceHead: Sendable {
  package let status: Int
  package let fields: [(name: String, value: String)]

  /// Returns the first value of a field; the case of its name does not matter.
  package subscript(_ name: String) -> String? {
    let name = name.lowercased()
    return fields.first { $0.name.lowercased() == name }?.value
  }
}

/// A whole reply.
package struct ServiceReply: Sendable {
  package let head: ServiceHead
  package let bytes: [UInt8]

  package var status: Int { head.status }

  /// Returns the body as JSON.
  package func json() throws(ServiceError) -> JSONValue {
    do { return try JSONParser.parse(bytes, isLimited: false) } catch {
      throw .invalidReply("the reply is not JSON")
    }
  }
}

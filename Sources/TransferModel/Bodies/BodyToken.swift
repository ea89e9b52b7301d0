/// An opaque handle of a body. The state machines pass it along without access to the bytes.
package protocol BodyToken: AnyObject, Sendable {
  /// Stops reading the body, and notifies a client that is still sending it.
  func cancel()
}

/// A body inside a fact or an answer. Only the process that has the body can use it: a stored copy refers to no body.
package struct BodyReference: Sendable {
  package let token: (any BodyToken)?

  package init(_ token: (any BodyToken)?) { self.token = token }
}

extension BodyReference: CustomStringConvertible {
  package var description: String { token == nil ? "no body" : "a body" }
}

internal import HTTPFields
internal import HTTPServer
internal import HTTPTypes

/// Checks If-Match on reads (RFC 9110 §13.1.1), which precedes all other conditions (§13.2.2). Routes that write check If-Match
/// themselves, before they change anything.
enum Precondition {
  static func check(_ context: RequestContext, _ response: ServerResponse) throws(Problem) {
    guard context.isRead, [200, 206, 304].contains(response.head.status.code) else { return }
    try check(context, tag: response.head.headerFields[.eTag])
  }

  /// - Parameter tag: the entity tag of the representation, or `nil` if it has none, which matches no tag.
  static func check(_ context: RequestContext, tag: String?) throws(Problem) {
    guard let field = context.field(.ifMatch) else { return }
    // A compressed reply's tag is weak but names the same version.
    let strong = tag.map { $0.hasPrefix("W/") ? $0.dropFirst(2) : $0[...] }
    let matches = field.split(separator: ",").contains { candidate in
      let candidate = candidate.trimmingBlanks
      return candidate == "*" || strong.map { candidate == $0 } ?? false
    }
    guard matches else { throw Problem(.preconditionFailed) }
  }
}

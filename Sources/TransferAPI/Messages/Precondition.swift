internal import HTTPFields
internal import HTTPServer
internal import HTTPTypes

/// Whether a read is of the version that its client means: If-Match (RFC 9110 §13.1.1), which goes before all other
/// conditions (§13.2.2). Writes are checked by their routes, before they change anything.
enum Precondition {
  static func check(_ context: RequestContext, _ response: ServerResponse) throws(Problem) {
    guard context.isRead, [200, 206, 304].contains(response.head.status.code) else { return }
    try check(context, tag: response.head.headerFields[.eTag])
  }

  /// - Parameter tag: of what is read; nil: it has none, and no tag matches it.
  static func check(_ context: RequestContext, tag: String?) throws(Problem) {
    guard let field = context.field(.ifMatch) else { return }
    // A compressed reply's is weak, but names the same version.
    let strong = tag.map { $0.hasPrefix("W/") ? $0.dropFirst(2) : $0[...] }
    let matches = field.split(separator: ",").contains { candidate in
      let candidate = candidate.trimmingBlanks
      return candidate == "*" || strong.map { candidate == $0 } ?? false
    }
    guard matches else { throw Problem(.preconditionFailed) }
  }
}

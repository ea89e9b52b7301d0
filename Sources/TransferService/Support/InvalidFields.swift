package import JSON

/// The violations in a client's request, by field.
package struct InvalidFields: Error, Sendable, CustomStringConvertible {
  package let violations: [FieldViolation]
  /// The number of further violations that `violations` leaves out.
  package let omitted: Int
  package var description: String { violations.map(\.description).joined(separator: "; ") }

  package init(_ violations: [FieldViolation]) { (self.violations, omitted) = (violations, 0) }
  package init(_ violations: Violations) { (self.violations, omitted) = (violations.all, violations.omitted) }
}

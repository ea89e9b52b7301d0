package import JSON

/// What is wrong with what a client sent, field by field.
package struct InvalidFields: Error, Sendable, CustomStringConvertible {
  package let violations: [FieldViolation]
  /// Violations that are not among them.
  package let omitted: Int
  package var description: String { violations.map(\.description).joined(separator: "; ") }

  package init(_ violations: [FieldViolation]) { (self.violations, omitted) = (violations, 0) }
  package init(_ violations: Violations) { (self.violations, omitted) = (violations.all, violations.omitted) }
}

internal import Limits

/// A fault in a field of a JSON document, with the field's pointer.
package struct FieldViolation: Error, Sendable, Equatable {
  /// An RFC 6901 pointer, such as `/request/url`; empty for the whole document.
  package let pointer: String
  package let detail: String
  package let place: Source
  /// Whether the only fault is an exceeded limit.
  package let isExcess: Bool

  /// The part of a request that the pointer refers to.
  package enum Source: String, Sendable { case body, query, header }

  package init(pointer: String, detail: String, isExcess: Bool = false) {
    self.init(pointer: pointer, detail: detail, in: .body, isExcess: isExcess)
  }

  package init(parameter: String, detail: String) {
    self.init(pointer: "/" + parameter, detail: detail, in: .query)
  }

  /// Makes the violation of a header field.
  /// - Parameter field: the name of the header field.
  package init(field: String, detail: String) {
    self.init(pointer: "/" + field, detail: detail, in: .header)
  }

  private init(pointer: String, detail: String, in place: Source, isExcess: Bool = false) {
    self.isExcess = isExcess
    self.pointer = BoundedText.text(pointer)
    self.detail = BoundedText.text(detail)
    self.place = place
  }
}

extension FieldViolation: CustomStringConvertible {
  package var description: String { "\(pointer.isEmpty ? "the document" : pointer): \(detail)" }
}

/// The violations of one document, collected so that a client sees the first ones and the number of others at once.
package final class Violations {
  /// The limit of stored violations.
  package static let maximum = Limits.violations.value
  package private(set) var all: [FieldViolation] = []
  /// The number of violations beyond the limit.
  package private(set) var omitted = 0
  package init() {}

  package var isEmpty: Bool { all.isEmpty }

  package func add(_ pointer: @autoclosure () -> String, _ detail: @autoclosure () -> String) {
    add { FieldViolation(pointer: pointer(), detail: detail()) }
  }

  /// Adds the violation of a limit.
  /// - Parameter detail: names the value and the limit.
  package func exceed(_ pointer: @autoclosure () -> String, _ detail: @autoclosure () -> String) {
    add { FieldViolation(pointer: pointer(), detail: detail(), isExcess: true) }
  }

  package func add(parameter: String, _ detail: @autoclosure () -> String) {
    add { FieldViolation(parameter: parameter, detail: detail()) }
  }

  private func add(_ violation: () -> FieldViolation) {
    if all.count < Self.maximum { all.append(violation()) } else { omitted += 1 }
  }
}

/// A limit on a client's text in a reply, so that repeated long names cannot make a huge reply.
package enum BoundedText {
  /// The limit in bytes.
  package static let maximum = Limits.shownTextBytes.value

  /// Returns the text, or its beginning and `…`.
  package static func text(_ text: String) -> String {
    guard text.utf8.count > maximum else { return text }
    return String(decoding: text.utf8.prefix(maximum), as: UTF8.self) + "…"
  }
}

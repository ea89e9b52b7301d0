internal import Limits

/// What is wrong with a field of a JSON document, and which one it is.
package struct FieldViolation: Error, Sendable, Equatable {
  /// An RFC 6901 pointer, `/request/url`; empty for the whole document.
  package let pointer: String
  package let detail: String
  package let place: Place
  /// Whether the only fault is an exceeded limit.
  package let isExcess: Bool

  /// Which part of a request the pointer is into.
  package enum Place: String, Sendable { case body, query, header }

  package init(pointer: String, detail: String, isExcess: Bool = false) {
    self.init(pointer: pointer, detail: detail, in: .body, isExcess: isExcess)
  }

  package init(parameter: String, detail: String) {
    self.init(pointer: "/" + parameter, detail: detail, in: .query)
  }

  /// - Parameter field: the name of a header field.
  package init(field: String, detail: String) {
    self.init(pointer: "/" + field, detail: detail, in: .header)
  }

  private init(pointer: String, detail: String, in place: Place, isExcess: Bool = false) {
    self.isExcess = isExcess
    self.pointer = BoundedText.text(pointer)
    self.detail = BoundedText.text(detail)
    self.place = place
  }
}

extension FieldViolation: CustomStringConvertible {
  package var description: String { "\(pointer.isEmpty ? "the document" : pointer): \(detail)" }
}

/// Collects the violations of one document, so that a client sees them all at once: the first of them, and how many more there are.
package final class Violations {
  /// As many are kept.
  package static let maximum = Limits.violations.value
  package private(set) var all: [FieldViolation] = []
  /// Those that were found and not kept.
  package private(set) var omitted = 0
  package init() {}

  package var isEmpty: Bool { all.isEmpty }

  package func add(_ pointer: @autoclosure () -> String, _ detail: @autoclosure () -> String) {
    add { FieldViolation(pointer: pointer(), detail: detail()) }
  }

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

/// Text of a client's in a reply: its names, repeated, must not make a reply of any size.
package enum BoundedText {
  /// Bytes.
  package static let maximum = Limits.shownTextBytes.value

  /// The text, or its beginning and `…`.
  package static func text(_ text: String) -> String {
    guard text.utf8.count > maximum else { return text }
    return String(decoding: text.utf8.prefix(maximum), as: UTF8.self) + "…"
  }
}

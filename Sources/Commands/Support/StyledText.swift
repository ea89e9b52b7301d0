/// A line whose parts have roles. It counts and shortens the text alone, because only `text` adds escape sequences.
struct StyledText: Sendable, Equatable {
  private struct Part: Sendable, Equatable {
    var text: String
    let role: Colors.Role?
  }

  private var parts: [Part] = []

  init(_ text: String, _ role: Colors.Role? = nil) {
    if !text.isEmpty { parts = [Part(text: text, role: role)] }
  }

  /// Makes a line with the name of a property and its value.
  static func property(_ name: String, width: Int, _ value: String, _ role: Colors.Role? = nil) -> StyledText
  {
    StyledText(PlainText.padded(name, to: width), .secondary) + StyledText("  ")
      + StyledText(PlainText.safe(value), role)
  }

  static func + (left: StyledText, right: StyledText) -> StyledText {
    var sum = left
    sum.parts += right.parts
    return sum
  }

  /// The text without colours.
  var plain: String { parts.map(\.text).joined() }

  /// The text with the escape sequences of its roles.
  func text(_ colors: Colors) -> String { parts.map { colors.paint($0.text, $0.role) }.joined() }

  /// Shortens the text as `PlainText.fitted` does. The remaining parts keep their roles.
  func fitted(to cells: Int) -> StyledText {
    guard let cut = PlainText.cut(plain, to: cells) else { return self }
    guard cells > 0 else { return StyledText("") }
    return scalars(0..<cut.head) + StyledText("…") + scalars(cut.tail)
  }

  /// Returns the text without blanks at its end.
  func trimmed() -> StyledText {
    let text = plain
    return scalars(0..<text.unicodeScalars.count - text.reversed().prefix { $0 == " " }.count)
  }

  private func scalars(_ range: Range<Int>) -> StyledText {
    var (result, start) = (StyledText(""), 0)
    for part in parts {
      let all = part.text.unicodeScalars
      let rest = all.dropFirst(max(0, range.lowerBound - start)).prefix(
        range.upperBound - max(start, range.lowerBound))
      start += all.count
      if !rest.isEmpty { result.parts.append(Part(text: String(rest), role: part.role)) }
      if start >= range.upperBound { break }
    }
    return result
  }
}

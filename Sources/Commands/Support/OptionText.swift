internal import ArgumentParser
internal import JSON

/// The texts of options that several commands have.
enum OptionText {
  typealias Pair = (name: String, value: String)

  static let standardTries = 20

  static func checkTries(_ tries: Int) throws(ValidationError) {
    guard (1...1_000_000).contains(tries) else {
      throw ValidationError("tries: '\(tries)' is not a number from 1 to 1000000")
    }
  }

  static func checkLimit(_ limit: Int) throws(ValidationError) {
    guard limit > 0 else { throw ValidationError("limit: '\(limit)' is not a number above 0") }
  }

  static func checkSince(_ since: String?) throws(ValidationError) {
    guard let since, Quantities.seconds(since) == nil else { return }
    throw ValidationError("since: '\(since)' is not a duration; use a form such as 30m, 2h or 7d")
  }

  /// Reads header fields of the form `Name: value`.
  static func fields(_ texts: [String]) throws(ValidationError) -> [Pair] {
    try pairs(texts, of: "header", "colon; use 'Name: value'", separator: ":").map { pair in
      (pair.name, String(pair.value.drop { $0 == " " }))
    }
  }

  /// Reads labels of the form `key=value`.
  static func labels(_ texts: [String]) throws(ValidationError) -> [Pair] {
    try pairs(texts, of: "label", "equals sign; use key=value", separator: "=")
  }

  private static func pairs(
    _ texts: [String], of option: String, _ missing: String, separator: Character
  ) throws(ValidationError) -> [Pair] {
    var pairs: [Pair] = []
    for text in texts {
      guard let place = text.firstIndex(of: separator), place != text.startIndex else {
        throw ValidationError("\(option): '\(text)' has no \(missing)")
      }
      pairs.append((String(text[..<place]), String(text[text.index(after: place)...])))
    }
    return pairs
  }
}

extension JSONWriter {
  /// Writes members that are texts.
  mutating func members(_ pairs: [OptionText.Pair]) {
    for pair in pairs {
      key(pair.name)
      value(pair.value)
    }
  }

  /// Writes a member that is an object of texts.
  mutating func field(_ name: StaticString, _ pairs: [OptionText.Pair]) {
    objectField(name) { $0.members(pairs) }
  }
}

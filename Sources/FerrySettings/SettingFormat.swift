/// The kind of a setting's value: its notation and its range.
package enum SettingFormat: Sendable, Equatable {
  package enum Unit: String, Sendable { case bytes, seconds }

  /// An IP address and a port.
  case address
  case directory
  case file
  case integer(ClosedRange<Int>, Unit? = nil)
  /// A number that is not negative.
  case decimal
  /// True or false. On the command line, the presence of the flag means true.
  case flag
  case choice([String])
  /// The permissions of a file in octal digits.
  case mode
  /// Several items. A text separates them by any of `separators`; repeated options are joined with `joint`.
  case list(item: String, separators: String, joint: Character)

  /// The placeholder of the value in the help.
  package var valueName: String {
    switch self {
    case .address: "address:port"
    case .directory: "directory"
    case .file: "file"
    case .integer(_, let unit): unit?.rawValue ?? "number"
    case .decimal: "number"
    case .flag: "flag"
    case .choice: "word"
    case .mode: "mode"
    case .list(let item, _, _): item
    }
  }

  /// A description of the allowed values.
  package var description: String {
    switch self {
    case .address: "address and port"
    case .directory: "directory"
    case .file: "file"
    case .integer(let range, let unit):
      (unit.map { "\($0.rawValue), " } ?? "") + Self.words(range)
    case .decimal: "number, 0 or more"
    case .flag: "`true` or `false`"
    case .choice(let words): words.map { "`\($0)`" }.joined(separator: ", ")
    case .mode: "octal mode from `0400` to `0777`"
    case .list(let item, let separators, _): "\(item), or several with \(Self.words(separators)) between them"
    }
  }

  /// The largest allowed number; `nil` if there is none.
  package var most: String? {
    guard case .integer(let range, let unit) = self, range.upperBound < .max else { return nil }
    return "\(range.upperBound)" + (unit.map { " \($0.rawValue)" } ?? "")
  }

  private static func words(_ range: ClosedRange<Int>) -> String {
    range.upperBound == .max
      ? "\(range.lowerBound) or more" : "\(range.lowerBound) to \(range.upperBound)"
  }

  private static func words(_ separators: String) -> String {
    let names: [Character: String] = [" ": "blanks", ",": "commas", ";": "semicolons", "\n": "new lines"]
    return separators.compactMap { names[$0] }.joined(separator: " or ")
  }

  /// Returns a readable form of a value: sizes and durations also appear in larger units.
  package func readable(_ text: String) -> String {
    guard case .integer(_, let unit?) = self, let number = Int(text) else { return text }
    let scales: [(Int, String)] =
      switch unit {
      case .bytes: [(1 << 40, "TiB"), (1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")]
      case .seconds: [(86_400, "days"), (3600, "hours")]
      }
    let fitting = scales.first { number >= $0.0 && number % $0.0 == 0 }
    return text + (fitting.map { " (\(number / $0.0) \($0.1))" } ?? "")
  }

  /// Splits a list into its items.
  func parts(_ text: String) -> [String] {
    guard case .list(_, let separators, _) = self else { return [text] }
    return text.split { separators.contains($0) }.map { String($0) }
  }
}

internal import FerryClient
internal import Limits

/// Names for downloaded files. A server suggests them, so they must be safe.
enum FileNames {
  static let maximumBytes = ClientLimits.fileNameBytes.value
  /// The bytes that a number in parentheses may add.
  private static let reserve = 12

  /// Returns a name without directories, control characters and a dot at its beginning.
  static func safe(_ suggestion: String?) -> String {
    var name = String.UnicodeScalarView()
    for scalar in (suggestion ?? "").unicodeScalars {
      switch scalar.properties.generalCategory {
      case .control, .lineSeparator, .paragraphSeparator, .surrogate: name.append("_")
      case .format: continue
      default: name.append(scalar == "/" || scalar == "\\" ? "_" : scalar)
      }
    }
    var text = String(name)
    while let last = text.last, last == " " || last == "." { text.removeLast() }
    while text.first == " " { text.removeFirst() }
    if text.hasPrefix(".") { text = "_" + text.dropFirst() }
    if text.hasPrefix("-") { text = "_" + text.dropFirst() }
    guard !text.isEmpty else { return "download" }
    return shortened(text, to: maximumBytes - reserve)
  }

  /// Returns `name (1).ext` for the number 1, and the name itself for 0.
  static func numbered(_ name: String, _ number: Int) -> String {
    guard number > 0 else { return name }
    let (stem, suffix) = parts(name)
    return "\(stem) (\(number))\(suffix)"
  }

  /// Splits a name before its extension. `.tar.gz` and kin count as one.
  private static func parts(_ name: String) -> (stem: String, suffix: String) {
    guard let dot = name.lastIndex(of: "."), dot != name.startIndex,
      name.utf8.distance(from: dot, to: name.endIndex) <= 16
    else { return (name, "") }
    var start = dot
    if name[..<dot].hasSuffix(".tar") { start = name.index(dot, offsetBy: -4) }
    guard start != name.startIndex else { return (name, "") }
    return (String(name[..<start]), String(name[start...]))
  }

  /// Shortens a name by whole characters, and keeps its extension.
  private static func shortened(_ name: String, to limit: Int) -> String {
    guard name.utf8.count > limit else { return name }
    let (stem, suffix) = parts(name)
    var short = String.UnicodeScalarView()
    var size = suffix.utf8.count
    for scalar in stem.unicodeScalars {
      size += UTF8.width(scalar)
      guard size <= limit else { break }
      short.append(scalar)
    }
    return String(short) + suffix
  }
}

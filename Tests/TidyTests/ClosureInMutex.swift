/// Finds mutexes whose value is a closure.
enum ClosureInMutex {
  /// Returns the values of all `Mutex<…>` in the text that are closures or aliases of closures.
  static func values(in text: String, aliases: Set<String>) -> [String] {
    text.split(separator: "Mutex<", omittingEmptySubsequences: false).dropFirst().compactMap { rest in
      let value = String(argument(rest))
      let isAlias = aliases.contains(value.filter { $0.isLetter || $0.isNumber || $0 == "_" })
      return value.contains("->") || isAlias ? value : nil
    }
  }

  /// Returns the type aliases of closures.
  static func aliases(in text: String) -> [String] {
    text.split(separator: "\n").compactMap { line in
      let words = line.split(separator: " ")
      guard line.contains("->"), let index = words.firstIndex(of: "typealias"), index + 1 < words.count else {
        return nil
      }
      return String(words[index + 1].prefix { $0 != "<" })
    }
  }

  /// Returns the text before the matching closing bracket.
  private static func argument(_ text: Substring) -> Substring {
    var depth = 1
    var previous: Character = " "
    for index in text.indices {
      let character = text[index]
      if character == "<" { depth += 1 }
      if character == ">", previous != "-" { depth -= 1 }
      if depth == 0 { return text[..<index] }
      previous = character
    }
    return text
  }
}

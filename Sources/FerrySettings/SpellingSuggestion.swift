/// Spelling suggestions for unknown names.
enum SpellingSuggestion {
  /// Returns a hint to append to a message about an unknown setting.
  static func hint(_ name: String, among known: [String]) -> String {
    if let present = RenamedSettings.presentName(of: name) { return "; it is called \(present) now" }
    guard let nearest = find(name, among: known) else {
      return "; remove it, or correct its name (`ferry serve --help` lists the settings)"
    }
    return "; did you mean \(nearest)?"
  }

  /// Returns the name with the smallest edit distance, if that is small enough.
  static func find(_ name: String, among known: [String]) -> String? {
    let text = Array(name.lowercased().unicodeScalars.prefix(100))
    let distances = known.map { ($0, distance(text, Array($0.lowercased().unicodeScalars))) }
    guard let nearest = distances.min(by: { $0.1 < $1.1 }) else { return nil }
    return nearest.1 <= max(2, text.count / 4) ? nearest.0 : nil
  }

  /// Returns the edit distance: insertions, deletions, replacements and exchanges of neighbours.
  static func distance<Element: Equatable>(_ one: [Element], _ other: [Element]) -> Int {
    var beforeLast: [Int] = []
    var last = Array(0...other.count)
    for row in 0..<one.count {
      var current = [row + 1]
      for column in 0..<other.count {
        let isSame = one[row] == other[column]
        var best = min(last[column + 1] + 1, current[column] + 1, last[column] + (isSame ? 0 : 1))
        if row > 0, column > 0, one[row] == other[column - 1], one[row - 1] == other[column] {
          best = min(best, beforeLast[column - 1] + 1)
        }
        current.append(best)
      }
      (beforeLast, last) = (last, current)
    }
    return last[other.count]
  }
}

/// The file format of `EnvironmentFile=` in a systemd unit (systemd.exec(5)).
enum EnvironmentFile {
  private static let blanks = " \t\r"

  private enum State { case name, startOfValue, value, singleQuoted, doubleQuoted, comment }

  /// Returns the variables by name. The last assignment of a name counts. As in systemd, a line without an assignment has no effect.
  static func variables(of text: String) -> [String: String] {
    var (found, state) = ([String: String](), State.name)
    var (name, value, blanksBehind) = ("", "", 0)
    func endOfLine() {
      if state != .name, state != .comment {
        found[String(name.reversed().drop { blanks.contains($0) }.reversed())] =
          String(value.dropLast(blanksBehind))
      }
      (name, value, blanksBehind, state) = ("", "", 0, .name)
    }
    // Swift reads CRLF as one Character, which no case below treats as the end of a line.
    var characters = Array(text.replacing("\r\n", with: "\n") + "\n")[...]
    while let character = characters.popFirst() {
      switch (state, character) {
      case (.singleQuoted, "'"), (.doubleQuoted, "\""): (state, blanksBehind) = (.startOfValue, 0)
      case (.doubleQuoted, "\\"):
        guard let next = characters.popFirst(), next != "\n" else { break }
        value += ("\"\\`$".contains(next) ? "" : "\\") + String(next)
      case (.singleQuoted, _), (.doubleQuoted, _): value.append(character)
      case (_, "\n"): endOfLine()
      case (.comment, _): break
      case (.name, "#") where name.isEmpty, (.name, ";") where name.isEmpty: state = .comment
      case (.name, "="): state = .startOfValue
      case (.name, _): if !name.isEmpty || !blanks.contains(character) { name.append(character) }
      case (.startOfValue, "'"): state = .singleQuoted
      case (.startOfValue, "\""): state = .doubleQuoted
      case (_, "\\"):
        if let next = characters.popFirst(), next != "\n" { value.append(next) }
        (state, blanksBehind) = (.value, 0)
      case (.startOfValue, _) where blanks.contains(character): break
      case (.startOfValue, _), (.value, _):
        state = .value
        value.append(character)
        blanksBehind = blanks.contains(character) ? blanksBehind + 1 : 0
      }
    }
    return found
  }
}

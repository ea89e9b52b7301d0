/// A parser for the part of Swift that Package.swift uses: texts, lists, tuples, names and calls.
struct ManifestSyntax {
  typealias Fault = Manifest.Fault

  enum Value {
    case text(String)
    case list([Value])
    case tuple([Argument])
    /// A name, with or without arguments.
    case call(String, [Argument])
    /// A floor comment between the elements of a list.
    case floor(Manifest.Floor)
  }
  struct Argument {
    let label: String?
    let value: Value
  }
  private enum Token {
    case text(String)
    case word(String)
    case symbol(Character)
    case floor(Manifest.Floor)

    var spelling: String {
      switch self {
      case .text(let text): "\"\(text)\""
      case .word(let word): word
      case .symbol(let symbol): String(symbol)
      case .floor(let floor): "// \(floor.number): \(floor.title)"
      }
    }
  }

  private var tokens: [Token] = []
  private var place = 0

  init(_ text: String) throws(Fault) {
    for line in text.split(separator: "\n") { try read(line) }
  }

  // MARK: Tokens

  private mutating func read(_ line: Substring) throws(Fault) {
    var rest = line
    while let first = rest.first {
      if rest.hasPrefix("//") {
        let comment = rest.dropFirst(2).drop { $0 == " " }
        if let number = comment.first?.wholeNumberValue, comment.dropFirst().hasPrefix(": ") {
          tokens.append(.floor(Manifest.Floor(number: number, title: String(comment.dropFirst(3)))))
        }
        return
      }
      if first == "\"" {
        rest = rest.dropFirst()
        guard let end = rest.firstIndex(of: "\"") else {
          throw Fault(description: "unterminated string: \(line)")
        }
        tokens.append(.text(String(rest[..<end])))
        rest = rest[end...].dropFirst()
      } else if Self.isOfWord(first) {
        tokens.append(.word(String(rest.prefix(while: Self.isOfWord))))
        rest = rest.drop(while: Self.isOfWord)
      } else {
        if first != " " { tokens.append(.symbol(first)) }
        rest = rest.dropFirst()
      }
    }
  }

  private static func isOfWord(_ character: Character) -> Bool {
    character.isLetter || character.isNumber || character == "_" || character == "$"
  }

  // MARK: Places

  private func places(of spelling: String) -> [Int] {
    let words = spelling.split(separator: " ").map(String.init)
    let all = tokens.map(\.spelling)
    return all.indices.filter { all[$0...].starts(with: words) }.map { $0 + words.count }
  }

  /// - Parameter spelling: The tokens, separated by spaces.
  func count(of spelling: String) -> Int { places(of: spelling).count }

  /// Returns the values that follow each occurrence of the tokens.
  /// - Parameter exception: A token. Occurrences that it follows are skipped.
  mutating func values(behind spelling: String, unless exception: String? = nil) throws(Fault) -> [Value] {
    var values: [Value] = []
    for start in places(of: spelling) where start < tokens.count && tokens[start].spelling != exception {
      place = start
      values.append(try value())
    }
    return values
  }

  // MARK: Values

  private mutating func take(_ symbol: Character) -> Bool {
    guard place < tokens.count, case .symbol(symbol) = tokens[place] else { return false }
    place += 1
    return true
  }

  private mutating func value() throws(Fault) -> Value {
    if take("[") { return .list(try list()) }
    if take("(") { return .tuple(try arguments()) }
    let isMember = take(".")
    guard place < tokens.count else { throw Fault(description: "the file ends too early") }
    let token = tokens[place]
    place += 1
    switch token {
    case .text(let text) where !isMember: return .text(text)
    case .word(let word): return .call(word, take("(") ? try arguments() : [])
    default: throw Fault(description: "unexpected token \(token.spelling)")
    }
  }

  private mutating func list() throws(Fault) -> [Value] {
    var values: [Value] = []
    while true {
      while place < tokens.count, case .floor(let floor) = tokens[place] {
        values.append(.floor(floor))
        place += 1
      }
      if take("]") { return values }
      values.append(try value())
      try separate("]")
    }
  }

  private mutating func arguments() throws(Fault) -> [Argument] {
    var arguments: [Argument] = []
    while !take(")") {
      var label: String?
      if place + 1 < tokens.count, case .word(let word) = tokens[place], case .symbol(":") = tokens[place + 1]
      {
        label = word
        place += 2
      }
      arguments.append(Argument(label: label, value: try value()))
      try separate(")")
    }
    return arguments
  }

  /// Reads a comma, or stops before the end symbol.
  private mutating func separate(_ end: Character) throws(Fault) {
    guard !take(",") else { return }
    guard place < tokens.count, case .symbol(end) = tokens[place] else {
      throw Fault(
        description: "\(place < tokens.count ? tokens[place].spelling : "the end") instead of a comma")
    }
  }
}

/// The methods of each type with all its extensions, by what the files say. It trusts the formatter: a line's indentation tells what
/// it is in.
struct MethodCount {
  private enum Scope {
    case type(String)
    case requirements
    case other
  }

  private(set) var methods: [String: [String]] = [:]

  private static let modifiers: Set<Substring> = [
    "package", "public", "private", "fileprivate", "internal", "final", "static", "class", "mutating",
    "nonmutating", "borrowing", "consuming", "override", "nonisolated", "isolated", "indirect", "async",
  ]
  private static let types: Set<Substring> = ["struct", "class", "enum", "actor", "protocol", "extension"]

  /// What a line declares, and its name; nil where that is neither a type nor a function.
  private static func declaration(_ code: Substring) -> (kind: Substring, name: Substring)? {
    let words = code.split(separator: " ")
    for (index, word) in words.enumerated() {
      guard index + 1 < words.count else { return nil }
      let next = words[index + 1]
      // `class` is both.
      if word == "func" || types.contains(word) && !modifiers.contains(next) && next != "func" {
        let isType = word != "func"
        let name = next.prefix { $0 != "(" && $0 != "<" && !(isType && ":{,".contains($0)) }
        return (word, isType || !name.isEmpty ? name : next.prefix { $0 != "(" })
      }
      guard word.hasPrefix("@") || modifiers.contains(word) else { return nil }
    }
    return nil
  }

  mutating func add(_ lines: [Substring]) {
    var scopes: [(indentation: Int, scope: Scope)] = []
    var isInText = false
    for line in lines {
      let quotes = line.split(separator: "\"\"\"", omittingEmptySubsequences: false).count - 1
      defer { if !quotes.isMultiple(of: 2) { isInText.toggle() } }
      guard !isInText, let start = line.firstIndex(where: { $0 != " " }) else { continue }
      let indentation = line.distance(from: line.startIndex, to: start)
      let code = line[start...]
      guard !code.hasPrefix("//"), !code.hasPrefix("#") else { continue }
      while let last = scopes.last, last.indentation >= indentation { scopes.removeLast() }
      let declared = Self.declaration(code)
      if let declared, declared.kind == "func" {
        if case .type(let type) = scopes.last?.scope {
          methods[type, default: []].append(String(declared.name))
        }
      } else if let declared, !code.hasSuffix("}") {
        var path = String(declared.name)
        if declared.kind != "extension", case .type(let outer) = scopes.last?.scope {
          path = "\(outer).\(path)"
        }
        scopes.append((indentation, declared.kind == "protocol" ? .requirements : .type(path)))
        continue
      }
      if code.hasSuffix("{") { scopes.append((indentation, .other)) }
    }
  }
}

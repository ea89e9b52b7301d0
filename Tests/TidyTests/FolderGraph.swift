/// The folders of a target, with the types that each folder uses from others. Files at the target's top level
/// are in the folder "".
struct FolderGraph {
  /// A file, and a type that it uses.
  struct Mention {
    let file: String
    let type: String
  }

  /// The first mention, by the folder that uses a type and the folder that declares the type.
  private(set) var mentions: [String: [String: Mention]] = [:]
  /// The folders that each folder depends on, directly or indirectly.
  private var reach: [String: Set<String>] = [:]

  /// - Parameter path: A path from the root of the checkout, whose third component is the folder.
  static func folder(of path: String) -> String {
    let parts = path.split(separator: "/")
    return parts.count > 3 ? String(parts[2]) : ""
  }

  /// - Parameters:
  ///   - files: The files of one target.
  ///   - module: The target's name, which may qualify a type.
  init(_ files: [SourceTree.File], module: String) {
    let sources = files.sorted { $0.path < $1.path }.map {
      (path: $0.path, folder: Self.folder(of: $0.path), code: SwiftWords($0.text))
    }
    guard Set(sources.map(\.folder)).count > 1 else { return }
    var homes: [String: Set<String>] = [:]
    for source in sources {
      for type in source.code.types(isVisible: true) { homes[type, default: []].insert(source.folder) }
    }
    for source in sources {
      let own = source.code.types(isVisible: false)
      var last = ""
      for word in source.code.words {
        defer { last = word.text }
        let isMember = word.previous == UInt8(ascii: ".") && last != module
        guard !isMember, !own.contains(word.text), let folders = homes[word.text],
          !folders.contains(source.folder)
        else { continue }
        for folder in folders where mentions[source.folder]?[folder] == nil {
          mentions[source.folder, default: [:]][folder] = Mention(file: source.path, type: word.text)
        }
      }
    }
    for folder in mentions.keys { reach[folder] = reached(from: folder) }
  }

  private func reached(from start: String) -> Set<String> {
    var found: Set<String> = []
    var open = [start]
    while let folder = open.popLast() {
      for next in mentions[folder, default: [:]].keys where found.insert(next).inserted { open.append(next) }
    }
    return found
  }

  /// The pairs of folders that use each other's types, sorted.
  var pairs: [(String, String)] {
    mentions.keys.sorted().flatMap { first in
      mentions[first, default: [:]].keys.sorted()
        .filter { first < $0 && mentions[$0]?[first] != nil }
        .map { (first, $0) }
    }
  }

  /// The largest sets of folders that all depend on each other, directly or indirectly, sorted.
  var cycles: [[String]] {
    let cycles = reach.keys.map { folder in
      reach[folder, default: []].filter { reach[$0]?.contains(folder) == true }.sorted()
    }
    return Set(cycles).filter { !$0.isEmpty }.sorted { $0.lexicographicallyPrecedes($1) }
  }

  /// Returns the mentions of the shortest cycle through a folder, or an empty array if there is none.
  func cycle(through start: String) -> [Mention] {
    var ways: [(end: String, mentions: [Mention])] = [(start, [])]
    var seen: Set<String> = []
    while !ways.isEmpty {
      let way = ways.removeFirst()
      for (next, mention) in mentions[way.end, default: [:]].sorted(by: { $0.key < $1.key }) {
        if next == start { return way.mentions + [mention] }
        if seen.insert(next).inserted { ways.append((next, way.mentions + [mention])) }
      }
    }
    return []
  }
}

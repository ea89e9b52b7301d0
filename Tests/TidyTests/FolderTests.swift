import Testing

/// The folders of a target depend on each other in one direction, without cycles. A cycle of two folders is
/// reported as a pair.
@Suite struct FolderTests {
  /// - Returns: The faults, one line each.
  private static func faults(_ graph: FolderGraph, in target: String) -> [String] {
    let pairs = graph.pairs.map { first, second in
      let mentions = [graph.mentions[first]?[second], graph.mentions[second]?[first]].compactMap(\.self)
      return "\(target): the folders \"\(first)\" and \"\(second)\" name each other's types: "
        + list(mentions)
    }
    let cycles = graph.cycles.filter { $0.count > 2 }.map { folders in
      "\(target): a cycle leads through the folder \"\(folders[0])\": "
        + list(graph.cycle(through: folders[0]))
    }
    return pairs + cycles
  }

  private static func list(_ mentions: [FolderGraph.Mention]) -> String {
    mentions.map { "\($0.file) names \($0.type)" }.joined(separator: ", ")
  }

  @Test func `folders of a target depend on each other in one direction`() throws {
    for (target, files) in try SourceTree.swiftFiles(under: "Sources") {
      for fault in Self.faults(FolderGraph(files, module: target), in: target) { Issue.record("\(fault)") }
    }
  }

  // MARK: Tests of the check

  /// - Parameter sources: The text of each file, by its path in the target.
  private static func graph(_ sources: [String: String]) -> FolderGraph {
    FolderGraph(
      sources.map { SourceTree.File(path: "Sources/House/\($0.key)", text: $0.value) }, module: "House")
  }

  /// Returns whether the folder A, which declares `Roof`, and a file in the folder B use each other's types.
  private static func isPair(_ text: String) -> Bool {
    graph(["A/Roof.swift": "struct Roof { let wall: Wall }", "B/Wall.swift": "struct Wall {}\n" + text])
      .pairs.count == 1
  }

  @Test(arguments: [
    "let roof: Roof", "extension Roof {}", "let roof = [Roof]()", #"let text = "\(Roof.height)""#,
    ##"let text = #"\#(Roof.height)"#"##, "let text = \"\"\"\n  \\(Roof.height)\n  \"\"\"",
    "/* a /* b */ c */ let roof: Roof", "let roof: House.Roof", #"let a = "\"", roof: Roof"#,
    "let roof: Roof  // a comment", "let path = \\Roof.height", "let a = \"\\(b(\"(\"))\"; let roof: Roof",
    "struct Door { func knock(roof: Roof) {} }",
  ])
  func `type name in code is a mention`(_ text: String) {
    #expect(Self.isPair(text))
  }

  @Test(arguments: [
    "// Roof", "/// A `Roof`.", "/* a /* Roof */ Roof */", #"let text = "Roof""#,
    ##"let text = #"\(Roof.height)"#"##, "let text = \"\"\"\n  a \" Roof\n  \"\"\"",
    #"let a = "\"Roof\"""#, "let Roofs = 1", "let roof = Barn.Roof()",
    "struct Barn { struct Roof {}; let roof: Roof }", "private struct Roof {}; let roof: Roof",
    "let a = \"\\(b(\"Roof\"))\"",
  ])
  func `name in a comment, text, member or own type is no mention`(_ text: String) {
    #expect(!Self.isPair(text))
  }

  @Test(arguments: ["struct", "final class", "enum", "protocol", "actor", "package indirect enum"])
  func `declaration at the top level is found`(_ kind: String) {
    #expect(SwiftWords("@frozen \(kind) Roof<Tile>: House {}").types(isVisible: true) == ["Roof"])
  }

  @Test(arguments: [
    "private struct Roof {}", "fileprivate final class Roof {}", "extension Roof {}", "import struct A.Roof",
    "let a = B.class", "import class A.Roof",
  ])
  func `declaration that other files cannot use is ignored`(_ text: String) {
    #expect(SwiftWords(text).types(isVisible: true).isEmpty)
  }

  @Test func `type alias is a declaration`() {
    #expect(SwiftWords("package typealias Roof = (Int) -> Void").types(isVisible: true) == ["Roof"])
  }

  @Test func `files at the top level are a folder`() {
    let graph = Self.graph([
      "House.swift": "struct House { let a: Roof }", "A/Roof.swift": "enum Roof { case a(House) }",
    ])
    #expect(graph.pairs.map { [$0.0, $0.1] } == [["", "A"]])
    let nested = Self.graph([
      "A/B/Roof.swift": "struct Roof { let a: Wall }", "A/Wall.swift": "struct Wall { let a: Roof }",
    ])
    #expect(nested.mentions.isEmpty)
  }

  @Test func `cycle of three folders is found`() {
    let graph = Self.graph([
      "A/Roof.swift": "struct Roof { let a: Wall }", "B/Wall.swift": "struct Wall { let a: Floor }",
      "C/Floor.swift": "struct Floor { weak var a: Roof? }", "D/Door.swift": "struct Door { let a: Roof }",
    ])
    #expect(graph.pairs.isEmpty && graph.cycles == [["A", "B", "C"]])
    #expect(graph.cycle(through: "B").map(\.type) == ["Floor", "Roof", "Wall"])
    #expect(graph.cycle(through: "D").isEmpty)
    let fault =
      "House: a cycle leads through the folder \"A\": Sources/House/A/Roof.swift names Wall, "
      + "Sources/House/B/Wall.swift names Floor, Sources/House/C/Floor.swift names Roof"
    #expect(Self.faults(graph, in: "House") == [fault])
  }

  @Test func `pair of folders that name types of each other is found`() {
    let graph = Self.graph([
      "A/Roof.swift": "struct Roof { let a: Wall }", "B/Wall.swift": "struct Wall { let a: Roof? }",
    ])
    #expect(
      Self.faults(graph, in: "House") == [
        "House: the folders \"A\" and \"B\" name each other's types: "
          + "Sources/House/A/Roof.swift names Wall, Sources/House/B/Wall.swift names Roof"
      ])
  }
}

import Testing

/// The folders of a target depend on each other in one direction: there are no cycles. A cycle of two folders is reported as a pair, a
/// longer one as a knot.
@Suite struct FolderTests {
  private struct Known {
    /// Folders that still name each other's types: by one, the others that follow it in the alphabet.
    let pairs: [String: [String]]
    /// Sets of three and more folders that still lead to each other.
    let knots: [[String]]

    init(_ pairs: [String: [String]], knots: [String]...) {
      self.pairs = pairs
      self.knots = knots
    }
  }

  /// What is left to mend. It may only shrink. The folder "" holds the files at a target's top level.
  private static let known: [String: Known] = [
    "TransferService": Known(
      [
        "": [
          "Bodies", "Decisions", "Events", "Machines", "Reachability", "Recovery", "Sessions",
          "Tasks", "Worker",
        ],
        "Events": ["Machines"], "Machines": ["Tasks", "Worker"],
        "Recovery": ["Worker"], "Sessions": ["Worker"],
      ],
      knots: [
        "", "Bodies", "Decisions", "Events", "Machines", "Reachability", "Recovery", "Sessions",
        "Tasks", "Worker",
      ])
  ]

  /// - Parameter known: what is left to mend in the target.
  /// - Returns: what is wrong, a line each.
  private static func faults(_ graph: FolderGraph, in target: String, _ known: Known?) -> [String] {
    var faults: [String] = []
    var open = known?.pairs ?? [:]
    for (first, second) in graph.pairs {
      if let place = open[first]?.firstIndex(of: second) {
        open[first]?.remove(at: place)
        continue
      }
      let mentions = [graph.mentions[first]?[second], graph.mentions[second]?[first]].compactMap(\.self)
      faults.append(
        "\(target): the folders \"\(first)\" and \"\(second)\" name each other's types: "
          + list(mentions))
    }
    for (first, others) in open.sorted(by: { $0.key < $1.key }) {
      for second in others {
        faults.append(
          "\(target): \"\(first)\" and \"\(second)\" do not name each other's types; remove the pair")
      }
    }
    let knots = known?.knots ?? []
    let found = graph.knots.filter { $0.count > 2 }
    for knot in found where !knots.contains(knot) {
      if knots.contains(where: { Set(knot).isSubset(of: $0) }) {
        faults.append("\(target): a knot is smaller than its entry; write \(knot)")
      } else {
        let folder = knot.first { folder in !knots.contains { $0.contains(folder) } } ?? knot[0]
        faults.append(
          "\(target): a cycle leads through the folder \"\(folder)\": " + list(graph.cycle(through: folder)))
      }
    }
    for knot in knots where !found.contains(where: { Set($0).isSubset(of: knot) }) {
      faults.append("\(target): the folders \(knot) are no knot; remove the entry")
    }
    return faults
  }

  private static func list(_ mentions: [FolderGraph.Mention]) -> String {
    mentions.map { "\($0.file) names \($0.type)" }.joined(separator: ", ")
  }

  @Test func `folders of a target depend on each other in one direction`() throws {
    let targets = try Tree.swiftFiles(under: "Sources")
    for (target, files) in targets {
      for fault in Self.faults(FolderGraph(files, module: target), in: target, Self.known[target]) {
        Issue.record("\(fault)")
      }
    }
    #expect(Set(Self.known.keys).isSubset(of: targets.keys), "remove the targets that are gone")
  }

  // MARK: The gate itself

  /// - Parameter sources: the text of each file, by its path below the target.
  private static func graph(_ sources: [String: String]) -> FolderGraph {
    FolderGraph(sources.map { Tree.File(path: "Sources/House/\($0.key)", text: $0.value) }, module: "House")
  }

  /// Whether the folder A, which declares `Roof`, and a file in the folder B name each other's types.
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
  func `a type's name in code is a mention`(_ text: String) {
    #expect(Self.isPair(text))
  }

  @Test(arguments: [
    "// Roof", "/// A `Roof`.", "/* a /* Roof */ Roof */", #"let text = "Roof""#,
    ##"let text = #"\(Roof.height)"#"##, "let text = \"\"\"\n  a \" Roof\n  \"\"\"",
    #"let a = "\"Roof\"""#, "let Roofs = 1", "let roof = Barn.Roof()",
    "struct Barn { struct Roof {}; let roof: Roof }", "private struct Roof {}; let roof: Roof",
    "let a = \"\\(b(\"Roof\"))\"",
  ])
  func `a name in a comment, a text, a member or a type of the file's own is no mention`(_ text: String) {
    #expect(!Self.isPair(text))
  }

  @Test(arguments: ["struct", "final class", "enum", "protocol", "actor", "package indirect enum"])
  func `a declaration at the top level is found`(_ kind: String) {
    #expect(SwiftWords("@frozen \(kind) Roof<Tile>: House {}").types(isVisible: true) == ["Roof"])
  }

  @Test(arguments: [
    "private struct Roof {}", "fileprivate final class Roof {}", "extension Roof {}", "import struct A.Roof",
    "let a = B.class", "import class A.Roof",
  ])
  func `what other files cannot name is no declaration`(_ text: String) {
    #expect(SwiftWords(text).types(isVisible: true).isEmpty)
  }

  @Test func `a type alias is a declaration`() {
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

  @Test func `a cycle of three folders is found`() {
    let graph = Self.graph([
      "A/Roof.swift": "struct Roof { let a: Wall }", "B/Wall.swift": "struct Wall { let a: Floor }",
      "C/Floor.swift": "struct Floor { weak var a: Roof? }", "D/Door.swift": "struct Door { let a: Roof }",
    ])
    #expect(graph.pairs.isEmpty && graph.knots == [["A", "B", "C"]])
    #expect(graph.cycle(through: "B").map(\.type) == ["Floor", "Roof", "Wall"])
    #expect(graph.cycle(through: "D").isEmpty)
    let fault =
      "House: a cycle leads through the folder \"A\": Sources/House/A/Roof.swift names Wall, "
      + "Sources/House/B/Wall.swift names Floor, Sources/House/C/Floor.swift names Roof"
    #expect(Self.faults(graph, in: "House", nil) == [fault])
    #expect(Self.faults(graph, in: "House", Known([:], knots: ["A", "B", "C"])).isEmpty)
    #expect(
      Self.faults(graph, in: "House", Known([:], knots: ["A", "B", "C", "D"]))
        == ["House: a knot is smaller than its entry; write [\"A\", \"B\", \"C\"]"])
    let grown = Self.faults(graph, in: "House", Known([:], knots: ["A", "B"]))
    #expect(grown.first?.hasPrefix("House: a cycle leads through the folder \"C\": ") == true)
    #expect(grown.dropFirst() == ["House: the folders [\"A\", \"B\"] are no knot; remove the entry"])
  }

  @Test func `the table of pairs may only shrink`() {
    let graph = Self.graph([
      "A/Roof.swift": "struct Roof { let a: Wall }", "B/Wall.swift": "struct Wall { let a: Roof? }",
    ])
    #expect(
      Self.faults(graph, in: "House", nil) == [
        "House: the folders \"A\" and \"B\" name each other's types: "
          + "Sources/House/A/Roof.swift names Wall, Sources/House/B/Wall.swift names Roof"
      ])
    #expect(Self.faults(graph, in: "House", Known(["A": ["B"]])).isEmpty)
    #expect(
      Self.faults(graph, in: "House", Known(["A": ["B", "C"]]))
        == ["House: \"A\" and \"C\" do not name each other's types; remove the pair"])
    #expect(
      Self.faults(Self.graph([:]), in: "House", Known(["A": ["B"]]))
        == ["House: \"A\" and \"B\" do not name each other's types; remove the pair"])
  }
}

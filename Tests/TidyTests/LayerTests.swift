import Foundation
import Testing

/// The layers of targets, as Package.swift declares them. ARCHITECTURE.md has to draw the same.
@Suite struct LayerTests {
  /// Modules of the Swift toolchain.
  private static let toolchain: Set = [
    "Dispatch", "Foundation", "FoundationEssentials", "Glibc", "Synchronization", "Testing",
  ]
  /// Dependencies that are linked but not imported: data that replaces other data, and a program that tests
  /// run.
  private static let linked: [String: Set<String>] = ["ferry": ["CICUData"], "EndToEndTests": ["ferry"]]
  /// External modules that several targets may use, because a wrapper would be useless. Every other external
  /// module has one user.
  private static let shared: Set = [
    "ArgumentParser", "CLinux", "CProcess", "Crypto", "DequeModule", "HeapModule", "HTTPTypes", "Logging",
  ]
  /// C targets that include no system headers.
  private static let ownC: Set = ["CProcess", "CICUData", "CDashboard"]

  private let manifest: Manifest
  /// The Swift files by the path of their target.
  private let files: [String: [SourceTree.File]]

  init() throws {
    manifest = try Manifest(SourceTree.text("Package.swift"))
    var files: [String: [SourceTree.File]] = [:]
    for folder in ["Sources", "Tests"] {
      for (name, found) in try SourceTree.swiftFiles(under: folder) { files["\(folder)/\(name)"] = found }
    }
    self.files = files
  }

  /// The targets of the program.
  private var house: [Manifest.Target] { manifest.targets.filter { $0.floor != nil } }
  private var systemModules: Set<String> { Set(house.filter { $0.floor == 1 }.map(\.name)) }

  // MARK: Dependencies

  @Test func `target depends only on earlier targets of its floor or below`() {
    let numbers = manifest.floors.map(\.number)
    #expect(
      numbers == Array(0..<numbers.count) && numbers.count > 1,
      "floors must be numbered from 0 without gaps, not \(numbers)")
    var floors: [String: Int] = [:]
    for target in house {
      for name in target.uses {
        // A target that comes later, or outside the program, is not yet in `floors`.
        #expect(floors[name] != nil, "\(target.name) uses \(name), which must be declared before it")
        #expect(
          floors[name] ?? 0 <= target.floor ?? 0, "\(target.name) uses \(name), which is on a higher floor")
      }
      floors[target.name] = target.floor
    }
  }

  @Test func `imports and declared dependencies are equal`() throws {
    for target in manifest.targets {
      guard let files = files[target.path] else {
        #expect(systemModules.contains(target.name), "\(target.name) has no files in \(target.path)")
        continue
      }
      var imported = Set(files.flatMap(\.imports)).subtracting(Self.toolchain)
      imported.formUnion(Self.linked[target.name] ?? [])
      for module in imported.subtracting(target.all) {
        let paths = files.filter { $0.imports.contains(module) }.map(\.path)
        Issue.record(
          "\(target.name) imports \(module), which its dependencies in Package.swift lack: \(paths)")
      }
      for module in target.all.subtracting(imported) {
        Issue.record("\(target.name) depends on \(module) in Package.swift, but never imports it")
      }
      for module in (Self.linked[target.name] ?? []).intersection(files.flatMap(\.imports)) {
        Issue.record("\(target.name) imports \(module); remove the exception")
      }
    }
  }

  @Test func `every source folder is a target`() throws {
    let folders = try FileManager.default.contentsOfDirectory(
      atPath: SourceTree.root.appendingPathComponent("Sources").path)
    #expect(Set(folders.map { "Sources/\($0)" }) == Set(house.map(\.path)))
    // The other folders must not contain Swift files.
    let paths = Set(manifest.targets.map(\.path))
    for (path, files) in files where !paths.contains(path) {
      Issue.record("\(path) is not a target, but has \(files.count) Swift files")
    }
  }

  /// The program depends on every target that is declared with a floor.
  @Test func `every target with a floor is part of the program`() throws {
    var reached: Set = ["ferry"]
    for target in house.reversed() where reached.contains(target.name) { reached.formUnion(target.uses) }
    #expect(Set(house.map(\.name)).subtracting(reached).isEmpty)
  }

  // MARK: External modules

  @Test func `external module has one wrapper`() {
    var users: [String: [String]] = [:]
    for target in house {
      for module in target.all where target.products.contains(module) || systemModules.contains(module) {
        users[module, default: []].append(target.name)
      }
    }
    #expect(Self.shared.isSubset(of: users.keys))
    for (module, users) in users {
      #expect(
        (users.count > 1) == Self.shared.contains(module),
        "\(module) is imported by \(users); give it one wrapper, or add it to `shared`")
    }
    for file in house.flatMap({ files[$0.path] ?? [] }) {
      #expect(
        !file.imports.contains("Foundation"),
        "\(file.path): import FoundationEssentials instead of Foundation")
    }
  }

  /// Wrappers of C include system headers. Swift attributes their declarations to the module that it reads
  /// first, which depends on the order of compilation. A file that imports Glibc therefore imports the wrappers
  /// too.
  @Test func `file that imports Glibc imports the wrappers that include it`() {
    for target in house {
      let wrappers = systemModules.intersection(target.uses).subtracting(Self.ownC)
      for file in files[target.path] ?? [] where file.imports.contains("Glibc") {
        for wrapper in wrappers {
          #expect(
            file.imports.contains(wrapper), "\(file.path) imports Glibc and must also import \(wrapper)")
        }
      }
    }
  }

  /// The life-cycle automata check the program, so they may depend on its values only. The program does not
  /// depend on them, because they have no floor.
  @Test func `life cycle depends only on values`() throws {
    let lifeCycle = try #require(manifest.targets.first { $0.name == "LifeCycle" })
    let values = Set(house.filter { $0.floor == 0 }.map(\.name))
    #expect(lifeCycle.floor == nil && lifeCycle.all.isSubset(of: values))
  }

  // MARK: ARCHITECTURE.md

  @Test func `picture of the house shows every target on its floor`() throws {
    let picture = try ArchitectureDiagram(SourceTree.text("ARCHITECTURE.md"))
    #expect(picture.floors.reversed() == manifest.floors)
    for target in house {
      #expect(
        picture.targets[target.name] == [target.floor ?? -1],
        "\(target.name) is on floor \(target.floor ?? -1), but ARCHITECTURE.md draws it on \(picture.targets[target.name] ?? [])"
      )
    }
    let strangers = Set(picture.targets.keys).subtracting(house.map(\.name))
    #expect(strangers.isEmpty, "ARCHITECTURE.md draws unknown targets: \(strangers)")
  }

  @Test func `table of targets is complete`() throws {
    let picture = try ArchitectureDiagram(SourceTree.text("ARCHITECTURE.md"))
    let names = Set(house.map(\.name))
    for entry in picture.entries where !names.contains(entry) && entry != "C…" {
      let path = SourceTree.root.appendingPathComponent("Sources/\(entry)").path
      #expect(entry.contains("/") && FileManager.default.fileExists(atPath: path), "\(entry) does not exist")
    }
    #expect(names.subtracting(picture.entries).subtracting(systemModules).isEmpty)
  }
}

/// The section "The house" of ARCHITECTURE.md: floors, the highest first, with their targets, and a table of
/// targets.
private struct ArchitectureDiagram {
  private(set) var floors: [Manifest.Floor] = []
  /// The floors on which each target is drawn.
  private(set) var targets: [String: [Int]] = [:]
  /// The entries in the first column of the table.
  private(set) var entries: Set<String> = []

  init(_ page: String) throws {
    let part = try #require(page.split(separator: "\n## The house\n").last?.split(separator: "\n## ").first)
    let pieces = part.split(separator: "```", omittingEmptySubsequences: false)
    try #require(pieces.count == 3)
    for line in pieces[1].split(separator: "\n") {
      var drawing = line
      if let (_, number, title, rest) = try /(\d)  (\S.*?)   *(\S.*)/.wholeMatch(in: line)?.output {
        floors.append(Manifest.Floor(number: try #require(Int(number)), title: String(title)))
        drawing = rest
      }
      // Remarks are in brackets.
      for word in drawing.replacing(/\(.*?\)/, with: "").split(whereSeparator: { !$0.isLetter }) {
        targets[String(word), default: []].append(try #require(floors.last).number)
      }
    }
    for line in pieces[2].split(separator: "\n") where line.hasPrefix("| `") {
      let cell = try #require(line.dropFirst(2).split(separator: " |").first)
      for entry in cell.split(separator: ", ") {
        entries.insert(String(entry.trimmingPrefix("`").dropLast()))
      }
    }
  }
}

import Foundation
import Testing

/// The house is what Package.swift says: these rules have no table of their own, and ARCHITECTURE.md draws what stands there.
@Suite struct LayerTests {
  /// What comes with Swift.
  private static let toolchain: Set = [
    "Dispatch", "Foundation", "FoundationEssentials", "Glibc", "Synchronization", "Testing",
  ]
  /// What is linked and not imported: data that takes the place of other data, and a program that tests start.
  private static let linked: [String: Set<String>] = ["ferry": ["CICUData"], "EndToEndTests": ["ferry"]]
  /// Outside things without a wrapper: the system itself, and what the rest of the program would have to be written without. Each other
  /// is used by one target.
  private static let shared: Set = [
    "CLinux", "CProcess", "Crypto", "DequeModule", "HeapModule", "HTTPTypes", "Logging",
  ]
  /// C that includes none of the system's headers.
  private static let ownC: Set = ["CProcess", "CICUData"]

  private let manifest: Manifest
  /// By path.
  private let files: [String: [Tree.File]]

  init() throws {
    manifest = try Manifest(Tree.text("Package.swift"))
    var files: [String: [Tree.File]] = [:]
    for folder in ["Sources", "Tests"] {
      for (name, found) in try Tree.swiftFiles(under: folder) { files["\(folder)/\(name)"] = found }
    }
    self.files = files
  }

  /// Those that the program is made of.
  private var house: [Manifest.Target] { manifest.targets.filter { $0.floor != nil } }
  private var systemModules: Set<String> { Set(house.filter { $0.floor == 1 }.map(\.name)) }

  // MARK: Arrows

  @Test func whatATargetUsesStandsBelowItOrBesideItAndBeforeIt() {
    let numbers = manifest.floors.map(\.number)
    #expect(numbers == Array(0..<numbers.count) && numbers.count > 1, "the floors are \(numbers)")
    var floors: [String: Int] = [:]
    for target in house {
      for name in target.uses {
        // What stands behind it, or beside the house, is not there yet.
        #expect(floors[name] != nil, "\(target.name) uses \(name), which does not stand before it")
        #expect(floors[name] ?? 0 <= target.floor ?? 0, "\(target.name) uses \(name), which stands above it")
      }
      floors[target.name] = target.floor
    }
  }

  @Test func whatIsImportedIsDeclaredAndWhatIsDeclaredIsImported() throws {
    for target in manifest.targets {
      guard let files = files[target.path] else {
        #expect(systemModules.contains(target.name), "\(target.name) has no files in \(target.path)")
        continue
      }
      var imported = Set(files.flatMap(\.imports)).subtracting(Self.toolchain)
      imported.formUnion(Self.linked[target.name] ?? [])
      for module in imported.subtracting(target.all) {
        let paths = files.filter { $0.imports.contains(module) }.map(\.path)
        Issue.record("\(target.name) imports \(module), which Package.swift does not say: \(paths)")
      }
      for module in target.all.subtracting(imported) {
        Issue.record("\(target.name) uses \(module), as Package.swift says, and never imports it")
      }
      for module in (Self.linked[target.name] ?? []).intersection(files.flatMap(\.imports)) {
        Issue.record("\(target.name) does import \(module)")
      }
    }
  }

  @Test func everyFolderIsATarget() throws {
    let folders = try FileManager.default.contentsOfDirectory(
      atPath: Tree.root.appendingPathComponent("Sources").path)
    #expect(Set(folders.map { "Sources/\($0)" }) == Set(house.map(\.path)))
    // Others hold what is written in other languages, and data.
    let paths = Set(manifest.targets.map(\.path))
    for (path, files) in files where !paths.contains(path) {
      Issue.record("\(path) is no target, and has \(files.count) Swift files")
    }
  }

  /// Nothing stands in the house that the program does not need, but for what is said to.
  @Test func theProgramIsMadeOfTheHouse() throws {
    var reached: Set = ["ferry"]
    for target in house.reversed() where reached.contains(target.name) { reached.formUnion(target.uses) }
    #expect(Set(house.map(\.name)).subtracting(reached).isEmpty)
  }

  // MARK: Outside things

  @Test func outsideThingsStayInTheirWrappers() {
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
        "\(module) is used by \(users): give it one wrapper, or say that it has none")
    }
    for file in house.flatMap({ files[$0.path] ?? [] }) {
      #expect(!file.imports.contains("Foundation"), "\(file.path): FoundationEssentials is enough")
    }
  }

  /// Wrappers of C include the system's headers, and Swift takes what these declare for the module that it has read first: in which
  /// order files are compiled decides. Whoever uses the C library finds its names in all of them.
  @Test func whoImportsTheLibraryOfCImportsTheWrappersThatIncludeIt() {
    for target in house {
      let wrappers = systemModules.intersection(target.uses).subtracting(Self.ownC)
      for file in files[target.path] ?? [] where file.imports.contains("Glibc") {
        for wrapper in wrappers {
          #expect(file.imports.contains(wrapper), "\(file.path) must import \(wrapper) beside Glibc")
        }
      }
    }
  }

  /// What tests and a simulator hold the program to knows no more of it than its values. That the program does not know it follows from
  /// where it stands.
  @Test func theLifeCycleIsBesideTheProgram() throws {
    let lifeCycle = try #require(manifest.targets.first { $0.name == "LifeCycle" })
    let values = Set(house.filter { $0.floor == 0 }.map(\.name))
    #expect(lifeCycle.floor == nil && lifeCycle.all.isSubset(of: values))
  }

  // MARK: The page

  @Test func thePictureShowsTheHouse() throws {
    let picture = try HousePicture(Tree.text("ARCHITECTURE.md"))
    #expect(picture.floors.reversed() == manifest.floors)
    for target in house {
      #expect(
        picture.targets[target.name] == [target.floor ?? -1],
        "\(target.name) stands on floor \(target.floor ?? -1), and is drawn on \(picture.targets[target.name] ?? [])"
      )
    }
    let strangers = Set(picture.targets.keys).subtracting(house.map(\.name))
    #expect(strangers.isEmpty, "no targets: \(strangers)")
  }

  @Test func theTableHasEveryTarget() throws {
    let picture = try HousePicture(Tree.text("ARCHITECTURE.md"))
    let names = Set(house.map(\.name))
    for entry in picture.entries where !names.contains(entry) && entry != "C…" {
      let path = Tree.root.appendingPathComponent("Sources/\(entry)").path
      #expect(entry.contains("/") && FileManager.default.fileExists(atPath: path), "\(entry) is not there")
    }
    #expect(names.subtracting(picture.entries).subtracting(systemModules).isEmpty)
  }
}

/// What ARCHITECTURE.md draws under "The house": floors, the highest first, each with the targets on it, and a table of them.
private struct HousePicture {
  private(set) var floors: [Manifest.Floor] = []
  /// On which floors each is drawn.
  private(set) var targets: [String: [Int]] = [:]
  /// What the table has rows for.
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
      // Remarks stand in brackets.
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

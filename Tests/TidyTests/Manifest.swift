/// The targets of Package.swift, with their dependencies and floors.
///
/// The parser supports only the forms that the file uses, and throws for every other form. A skipped target would
/// escape all rules.
struct Manifest {
  struct Fault: Error, CustomStringConvertible {
    let description: String
  }
  /// The targets between two comments such as `// 2: wrappers`.
  struct Floor: Equatable {
    let number: Int
    let title: String
  }
  struct Target {
    let name: String
    /// Targets of the package.
    let uses: [String]
    /// Modules of other packages.
    let products: [String]
    let path: String
    /// The number of the floor, or `nil` if the target is no part of the program.
    let floor: Int?

    var all: Set<String> { Set(uses + products) }
  }

  private(set) var floors: [Floor] = []
  private(set) var targets: [Target] = []

  private static let kinds = ["target", "executableTarget", "testTarget", "systemLibrary"]
  private static let labels: Set = [
    "exclude",
    "name", "dependencies", "path", "swiftSettings", "cSettings", "linkerSettings", "resources", "pkgConfig",
    "providers",
  ]
  /// The code that makes test targets from their table.
  private static let mirror =
    "package . targets + = tests . map { name , uses in . testTarget ( name : name + \"Tests\" , "
    + "dependencies : [ . byName ( name : name ) ] + uses ,"

  init(_ text: String) throws(Fault) {
    var syntax = try ManifestSyntax(text)
    let calls = try syntax.values(behind: "let package =")
    guard calls.count == 1, case .call("Package", let arguments) = calls[0] else {
      throw Fault(description: "Package.swift declares no package")
    }
    try add(Self.list(arguments, "targets"), hasFloors: true)
    let more = try syntax.values(behind: "package . targets + =", unless: "tests")
    for case let value in more { try add(Self.elements(of: value), hasFloors: false) }
    let tables = try syntax.values(
      behind: "let tests : [ ( name : String , uses : [ Target . Dependency ] ) ] =")
    for table in tables {
      for row in try Self.elements(of: table) { try addMirror(row) }
    }
    let mirrors = syntax.count(of: Self.mirror)
    guard syntax.count(of: "package . targets") == more.count + mirrors, mirrors == tables.count else {
      throw Fault(description: "Package.swift adds targets in an unsupported way")
    }
    let names = targets.map(\.name)
    guard !names.isEmpty, Set(names).count == names.count else {
      throw Fault(description: "Package.swift has no targets, or two with the same name: \(names)")
    }
    for target in targets {
      for name in target.uses where !names.contains(name) {
        throw Fault(description: "\(target.name) uses \(name), which is not a target")
      }
      guard target.all.count == target.uses.count + target.products.count else {
        throw Fault(description: "\(target.name) lists a dependency twice")
      }
    }
  }

  private mutating func add(_ values: [ManifestSyntax.Value], hasFloors: Bool) throws(Fault) {
    for value in values {
      if case .floor(let floor) = value, hasFloors {
        floors.append(floor)
        continue
      }
      guard case .call(let kind, let arguments) = value, Self.kinds.contains(kind) else {
        throw Fault(description: "\(value) is not a target")
      }
      let labels = arguments.map { $0.label ?? "" }
      guard Self.labels.isSuperset(of: labels), let name = try Self.text(arguments, "name") else {
        throw Fault(description: "a target has unsupported arguments: \(labels)")
      }
      guard !hasFloors || !floors.isEmpty else { throw Fault(description: "\(name) is on no floor") }
      let home = kind == "testTarget" ? "Tests" : "Sources"
      try add(
        name, Self.list(arguments, "dependencies"), at: Self.text(arguments, "path") ?? "\(home)/\(name)",
        on: hasFloors ? floors.last?.number : nil)
    }
  }

  private mutating func addMirror(_ row: ManifestSyntax.Value) throws(Fault) {
    guard case .tuple(let fields) = row, fields.count == 2, case .text(let name) = fields[0].value else {
      throw Fault(description: "\(row) is not a row of `tests`")
    }
    let uses = try Self.elements(of: fields[1].value)
    try add(name + "Tests", [.text(name)] + uses, at: "Tests/\(name)Tests", on: nil)
  }

  private mutating func add(
    _ name: String, _ dependencies: [ManifestSyntax.Value], at path: String, on floor: Int?
  ) throws(Fault) {
    var (uses, products): ([String], [String]) = ([], [])
    for dependency in dependencies {
      switch dependency {
      case .text(let name): uses.append(name)
      case .call("product", let arguments):
        guard let product = try Self.text(arguments, "name"), try Self.text(arguments, "package") != nil
        else {
          fallthrough
        }
        products.append(product)
      default: throw Fault(description: "\(name) has an unsupported dependency: \(dependency)")
      }
    }
    targets.append(Target(name: name, uses: uses, products: products, path: path, floor: floor))
  }

  private static func elements(of value: ManifestSyntax.Value) throws(Fault) -> [ManifestSyntax.Value] {
    guard case .list(let values) = value else { throw Fault(description: "\(value) is not a list") }
    return values
  }

  private static func list(
    _ arguments: [ManifestSyntax.Argument], _ label: String
  ) throws(Fault) -> [ManifestSyntax.Value] {
    guard let value = arguments.first(where: { $0.label == label })?.value else { return [] }
    return try elements(of: value)
  }

  private static func text(_ arguments: [ManifestSyntax.Argument], _ label: String) throws(Fault) -> String? {
    guard let value = arguments.first(where: { $0.label == label })?.value else { return nil }
    guard case .text(let text) = value else {
      throw Fault(description: "\(label) must be a string, not \(value)")
    }
    return text
  }
}

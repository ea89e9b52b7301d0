import Testing

/// The manifest's parser reads every target, and fails if it does not understand the text.
@Suite struct ManifestTests {
  private static let text = """
    let common: [SwiftSetting] = ["A", "B"].map { .enableUpcomingFeature($0) } + [.unsafeFlags(["-O"])]
    let package = Package(
      name: "a", dependencies: [.package(url: "https://a/b", exact: "1.0.0", traits: [])],
      targets: [
        // 0: values
        .target(name: "Values", swiftSettings: common),
        // 1: C modules
        .systemLibrary(name: "CA", pkgConfig: "a", providers: [.apt(["a-dev"])]),

        // Not linked.
        .executableTarget(
          name: "tool",
          dependencies: [
            "Values", .product(name: "Deque", package: "collections"),  // 9 things
            "CA",
          ]),
      ], swiftLanguageModes: [.v6])
    let tests: [(name: String, uses: [Target.Dependency])] = [("Values", ["CA", .product(name: "B", package: "b")])]
    package.targets += [.target(name: "Help", dependencies: ["Values"], path: "Tests/Help")]
    package.targets += tests.map { name, uses in
      .testTarget(name: name + "Tests", dependencies: [.byName(name: name)] + uses, swiftSettings: common)
    }
    """

  @Test func `every target is read`() throws {
    let manifest = try Manifest(Self.text)
    #expect(manifest.floors == [.init(number: 0, title: "values"), .init(number: 1, title: "C modules")])
    let lines = manifest.targets.map {
      "\($0.name) \($0.path) \($0.floor.map { "\($0)" } ?? "-"): \($0.uses) \($0.products)"
    }
    #expect(
      lines == [
        "Values Sources/Values 0: [] []", "CA Sources/CA 1: [] []",
        #"tool Sources/tool 1: ["Values", "CA"] ["Deque"]"#, #"Help Tests/Help -: ["Values"] []"#,
        #"ValuesTests Tests/ValuesTests -: ["Values", "CA"] ["B"]"#,
      ])
  }

  @Test(arguments: [
    (#""Values", .product"#, #""Other", .product"#), (#""Values", .product"#, #"more + .product"#),
    (#""Values", .product"#, #"values, .product"#), (#""Values", .product"#, #""CA", .product"#),
    (#"name: "Deque", package"#, "name: deque, package"), ("// 0: values", "// values"),
    (".systemLibrary", ".plugin"), (#"pkgConfig: "a""#, #"plugins: "a""#), ("targets: [", "targets: all + ["),
    ("let package =", "var package ="), (#""CA", pkgConfig"#, #""Values", pkgConfig"#),
    ("+= tests.map {", "+= tests.reversed().map {"), (#"+= [.target(name: "Help""#, "+= help + [.target("),
    ("[.byName(name: name)] + uses", "uses"), (#"[("Values", ["CA""#, #"[("Values", ["CA"] + ["#),
    (#"path: "Tests/Help")]"#, #"path: "Tests/Help"), hidden()]"#),
    (#"package: "collections")"#, #"package: ")"#),
  ])
  func `unknown syntax is a fault`(_ old: String, _ new: String) throws {
    let text = Self.text.replacing(old, with: new)
    try #require(text != Self.text)
    #expect(throws: Manifest.Fault.self) { try Manifest(text) }
  }
}

import Testing

/// `docs/swift.md` names a test for each scenario that FerryClient covers.
@Suite struct SwiftPageTests {
  @Test func `scenarios name tests that exist`() throws {
    let page = try SourceTree.text("docs/swift.md")
    let table = try #require(page.components(after: "## Scenarios of TestURLSession"))
    let row = /(?m)^\| [^|]+ \| `([^`]+)` \|$/
    let named = Set(table.matches(of: row).map { String($0.1) })
    let files = try SourceTree.swiftFiles(under: "Tests")["EndToEndTests"] ?? []
    let scenarios = files.filter { $0.path.contains("/FerryClient/") && $0.path.contains("Scenario") }
    let declared = Set(
      scenarios.flatMap { $0.text.matches(of: /@Test[^`]*? func `([^`]+)`/).map { String($0.1) } })
    #expect(named.count > 40)
    #expect(named.subtracting(declared).isEmpty, "no such test: \(named.subtracting(declared).sorted())")
  }
}

extension String {
  /// The text after the first occurrence of a heading.
  fileprivate func components(after heading: String) -> String? {
    ranges(of: heading).first.map { String(self[$0.upperBound...]) }
  }
}

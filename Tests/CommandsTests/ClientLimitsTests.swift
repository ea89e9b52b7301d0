import FerryClient
import Foundation
import Limits
import TestSupport
import Testing

/// docs/command-line.md lists the limits of the client's commands.
@Suite struct ClientLimitsTests {
  private static func row(_ limit: Limit) -> String {
    let unit = limit.unit == .count ? "" : " \(limit.unit.rawValue)"
    return "| `\(limit.name)` | \(limit.meaning) | \(limit.value)\(unit) | \(limit.consequence) |"
  }

  @Test func `table of limits equals the declarations`() throws {
    let page = try String(contentsOf: Checkout.root.appending(path: "docs/command-line.md"), encoding: .utf8)
    let section = try #require(page.components(separatedBy: "\n## Limits\n").last)
    let rows = section.split(separator: "\n").filter { $0.hasPrefix("| `") }.map(String.init)
    let wanted = ClientLimits.all.map(Self.row)
    #expect(rows == wanted, "the rows should be\n\(wanted.joined(separator: "\n"))")
  }

  @Test func `each limit is listed once`() throws {
    let source = try String(
      contentsOf: Checkout.root.appending(path: "Sources/FerryClient/Service/ClientLimits.swift"),
      encoding: .utf8)
    let declared = source.matches(of: /= Limit\(\s*"([a-z-]+)"/).map { String($0.1) }
    #expect(Set(declared) == Set(ClientLimits.all.map(\.name)) && declared.count == ClientLimits.all.count)
    #expect(ClientLimits.all.allSatisfy { $0.value > 0 })
  }
}

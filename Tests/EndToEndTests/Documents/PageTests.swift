import Foundation
import TestSupport
import Testing

/// The fenced blocks of README and docs. `Tests/Documents` runs them; the other pages have suites of their own.
@Suite(.blocking, .endsInTime) struct PageTests {
  private static func run(_ arguments: [String]) throws -> ChildProcess.Result {
    let program = Checkout.root.appending(path: "Tests/Documents/run.py").path
    return try ChildProcess.run(
      ServerFiles.python, [program, FerryProcess.binary] + arguments,
      environment: ChildProcess.environment(with: ["PYTHONDONTWRITEBYTECODE": "1"]), patience: 300)
  }

  @Test func `each block of a page has a runner`() throws {
    let result = try Self.run([])
    #expect(result.status == 0, "\(result.output)")
  }

  @Test(arguments: [
    "clients/README.md", "clients/python/README.md", "docs/background-sessions.md", "docs/backup.md",
    "docs/dashboard.md", "docs/deploy.md", "docs/destinations.md", "docs/operations.md", "docs/polling.md",
    "docs/proxies.md", "docs/settings.md", "docs/swift.md", "docs/troubleshooting.md", "docs/upgrades.md",
    "docs/webhooks.md",
  ])
  func `blocks of the page run`(_ page: String) throws {
    let result = try Self.run([page])
    #expect(result.status == 0 && result.output.hasSuffix(" blocks ran\n"), "\(result.output)")
  }
}

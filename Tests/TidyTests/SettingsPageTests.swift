import Addresses
import BlobStore
import EventLoop
import FerrySettings
import Glibc
import HTTPServer
import Limits
import Testing
import TransferEngine

/// `docs/settings.md` agrees with the declarations of the settings.
@Suite struct SettingsPageTests {
  private static func row(_ setting: any AnySetting) -> String {
    let option = setting.places.contains(.commandLine) ? "`\(setting.option)`" : "–"
    let initial = setting.defaultText == nil ? setting.shownDefault : code(setting)
    return [option, "`\(setting.variable)`", setting.help, setting.form.description, initial]
      .map { "| \($0) " }.joined() + "|"
  }

  /// Returns the default as code, followed by its explanation.
  private static func code(_ setting: any AnySetting) -> String {
    let text = setting.defaultText ?? ""
    return "`\(text)`" + setting.shownDefault.dropFirst(text.count)
  }

  @Test func `table of settings equals the declarations`() throws {
    let page = try SourceTree.text("docs/settings.md")
    let rows = page.split(separator: "\n").filter { $0.contains("`FERRY_") && $0.hasPrefix("| ") }.map(
      String.init)
    let wanted = SettingsCatalogue.all.filter { !$0.traits.contains(.hidden) }.map(Self.row)
    #expect(rows == wanted, "the rows should be\n\(wanted.joined(separator: "\n"))")
  }

  @Test func `table of limits equals the declarations`() throws {
    let page = try SourceTree.text("docs/settings.md")
    let section = try #require(page.firstMatch(of: /(?s)\n## Limits\n(.*?)\n##\s/)).1
    let rows = section.split(separator: "\n").filter { $0.hasPrefix("| `") }.map(String.init)
    let wanted = LimitsReport.rows.map { row in
      "| `\(row.name)` | \(row.meaning) | \(row.initial) | \(row.maximum) | \(row.beyond) |"
    }
    #expect(rows == wanted, "the rows should be\n\(wanted.joined(separator: "\n"))")
    #expect(Set(Limits.all.map(\.name)).count == Limits.all.count)
  }

  /// Documents and deployment files mention no variable `FERRY_…` that is not a setting.
  @Test func `documents name only existing settings`() throws {
    // Kubernetes sets `FERRY_PORT` for the service. The client's commands read the other variables.
    let known = Set(SettingsCatalogue.all.map(\.variable))
      .union(["FERRY_PORT", "FERRY_SERVER", "FERRY_TOKEN", "FERRY_CONTEXT"])
    let documents = ["README.md", "ARCHITECTURE.md", "docs/settings.md", "docs/deploy.md", "Dockerfile"]
    let deployed = try SourceTree.files(under: "deploy") + SourceTree.files(under: "packaging")
    #expect(deployed.contains("packaging/ferry.env") && deployed.contains("deploy/compose.yaml"))
    for path in documents + deployed {
      for match in try SourceTree.text(path).matches(of: /FERRY_[A-Z][A-Z_]*/) {
        #expect(known.contains(String(match.0)), "\(path): \(match.0)")
      }
    }
  }

  /// The values in these files are valid, including those that are commented out.
  @Test(arguments: ["packaging/ferry.env", "deploy/ferry.service", "Dockerfile"])
  func `deployed settings are valid`(_ path: String) throws {
    let settings = Dictionary(uniqueKeysWithValues: SettingsCatalogue.all.map { ($0.variable, $0) })
    // `Environment=` of a unit, `ENV` of a Dockerfile, or a line of an environment file.
    let given = try SourceTree.text(path).matches(
      of: /(?m)^(?:#|Environment=|ENV |\s+)(?<name>FERRY_[A-Z_]+)=(?<value>[^\s\\]+)/)
    #expect(!given.isEmpty, "\(path)")
    for match in given {
      let setting = try #require(settings[String(match.name)], "\(path): \(match.name)")
      #expect(throws: Never.self, "\(path): \(match.0)") { try setting.check(String(match.value)) }
    }
  }

  /// The package's environment file shows the default address.
  @Test func `environment file of the package shows the default`() throws {
    let listen = SettingsCatalogue.shared.listen
    let lines = try SourceTree.text("packaging/ferry.env").split(separator: "\n")
    #expect(lines.contains("#\(listen.variable)=\(listen.defaultText ?? "")"))
  }

  /// Targets below the settings have defaults of their own, which must be equal.
  @Test func `engine and server have the defaults of the settings`() {
    let catalogue = SettingsCatalogue.shared
    let pool = ThreadPool(name: "ferry-test", threads: 1)
    defer { pool.stop() }
    let engine = TransferEngine.Settings(
      egress: EgressPolicy(), blobs: DirectoryBlobs(bodies: "bodies", files: "files"), pool: pool)
    #expect(engine.smallBodyLimit == catalogue.smallBodyLimit.initial)
    #expect(engine.maximumBodySize == Int64(catalogue.maximumBodySize.initial))
    #expect(engine.maximumActive == catalogue.maximumTransfers.initial)
    #expect(engine.maximumAuthenticationAttempts == catalogue.maximumAuthenticationAttempts.initial)
    #expect(engine.memoryFiles.capacity == Int64(catalogue.maximumEphemeralBytes.initial))
    #expect(HTTPServer.Limits().connections == catalogue.maximumConnections.initial)
  }

  /// Messages take a setting's name from its declaration, so no source contains its option, variable or name.
  @Test func `sources spell no setting`() throws {
    let forms = SettingsCatalogue.all.flatMap { setting in
      (setting.name.contains("-") ? ["\"\(setting.name)\""] : []) + ["\(setting.option) ", setting.variable]
    }
    for file in try SourceTree.swiftFiles(under: "Sources").values.flatMap({ $0 })
    where !file.path.hasSuffix("FerrySettings/SettingsCatalogue.swift") {
      let spelled = forms.filter { Self.holds(file.text, $0) }
      for line in spelled.isEmpty ? [] : file.lines where !line.contains("///") {
        #expect(!spelled.contains { line.contains($0) }, "\(file.path): \(line)")
      }
    }
  }

  /// Searches with the C library, because there are ten thousand lines and a hundred forms.
  private static func holds(_ text: String, _ form: String) -> Bool { strstr(text, form) != nil }
}

import Addresses
import BlobStore
import EventLoop
import FerrySettings
import Glibc
import HTTPServer
import Limits
import Testing
import TransferEngine

/// `docs/settings.md` says of each setting what its declaration says.
@Suite struct SettingsPageTests {
  private static func row(_ setting: any AnySetting) -> String {
    let option = setting.places.contains(.commandLine) ? "`\(setting.option)`" : "–"
    let initial = setting.defaultText == nil ? setting.shownDefault : code(setting)
    return [option, "`\(setting.variable)`", setting.help, setting.form.description, initial]
      .map { "| \($0) " }.joined() + "|"
  }

  /// The default as it is given, and behind it how people would say it.
  private static func code(_ setting: any AnySetting) -> String {
    let text = setting.defaultText ?? ""
    return "`\(text)`" + setting.shownDefault.dropFirst(text.count)
  }

  @Test func theTableIsTheDeclarations() throws {
    let page = try Tree.text("docs/settings.md")
    let rows = page.split(separator: "\n").filter { $0.contains("`FERRY_") && $0.hasPrefix("| ") }.map(
      String.init)
    let wanted = SettingsCatalogue.all.filter { !$0.traits.contains(.hidden) }.map(Self.row)
    #expect(rows == wanted, "the rows should be\n\(wanted.joined(separator: "\n"))")
  }

  @Test func theTableOfLimitsIsTheDeclarations() throws {
    let page = try Tree.text("docs/settings.md")
    let section = try #require(page.firstMatch(of: /(?s)\n## Limits\n(.*?)\n##\s/)).1
    let rows = section.split(separator: "\n").filter { $0.hasPrefix("| `") }.map(String.init)
    let wanted = LimitsReport.rows.map { row in
      "| `\(row.name)` | \(row.meaning) | \(row.initial) | \(row.most) | \(row.beyond) |"
    }
    #expect(rows == wanted, "the rows should be\n\(wanted.joined(separator: "\n"))")
    #expect(Set(Limits.all.map(\.name)).count == Limits.all.count)
  }

  /// Nothing else in the documents, and in what the service is deployed with, is called a setting.
  @Test func documentsNameSettingsOnlyThatThereAre() throws {
    // Kubernetes makes a variable of that name, which is not Ferry's.
    let known = Set(SettingsCatalogue.all.map(\.variable)).union(["FERRY_PORT"])
    let documents = ["README.md", "ARCHITECTURE.md", "docs/settings.md", "docs/deploy.md", "Dockerfile"]
    let deployed = try Tree.files(under: "deploy") + Tree.files(under: "packaging")
    #expect(deployed.contains("packaging/ferry.env") && deployed.contains("deploy/compose.yaml"))
    for path in documents + deployed {
      for match in try Tree.text(path).matches(of: /FERRY_[A-Z][A-Z_]*/) {
        #expect(known.contains(String(match.0)), "\(path): \(match.0)")
      }
    }
  }

  /// What is given there, and what somebody would give who takes the mark of a comment away, is taken.
  @Test(arguments: ["packaging/ferry.env", "deploy/ferry.service", "Dockerfile"])
  func whatIsDeployedIsTaken(_ path: String) throws {
    let settings = Dictionary(uniqueKeysWithValues: SettingsCatalogue.all.map { ($0.variable, $0) })
    // `Environment=` of a unit, `ENV` of a Dockerfile, or nothing.
    let given = try Tree.text(path).matches(
      of: /(?m)^(?:#|Environment=|ENV |\s+)(?<name>FERRY_[A-Z_]+)=(?<value>[^\s\\]+)/)
    #expect(!given.isEmpty, "\(path)")
    for match in given {
      let setting = try #require(settings[String(match.name)], "\(path): \(match.name)")
      #expect(throws: Never.self, "\(path): \(match.0)") { try setting.check(String(match.value)) }
    }
  }

  /// The file of the package shows what holds where nothing is given.
  @Test func thePackagesFileShowsTheDefault() throws {
    let listen = SettingsCatalogue.shared.listen
    let lines = try Tree.text("packaging/ferry.env").split(separator: "\n")
    #expect(lines.contains("#\(listen.variable)=\(listen.defaultText ?? "")"))
  }

  /// Rooms that know no settings have defaults of their own: the same.
  @Test func enginesAndServersHaveTheSameDefaults() {
    let catalogue = SettingsCatalogue.shared
    let pool = WorkerPool(name: "ferry-test", threads: 1)
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

  /// A message names a setting by its declaration: no source spells its option, its variable or its name.
  @Test func sourcesSpellNoSetting() throws {
    let forms = SettingsCatalogue.all.flatMap { setting in
      (setting.name.contains("-") ? ["\"\(setting.name)\""] : []) + ["\(setting.option) ", setting.variable]
    }
    for file in try Tree.swiftFiles(under: "Sources").values.flatMap({ $0 })
    where !file.path.hasSuffix("FerrySettings/SettingsCatalogue.swift") {
      let spelled = forms.filter { Self.holds(file.text, $0) }
      for line in spelled.isEmpty ? [] : file.lines where !line.contains("///") {
        #expect(!spelled.contains { line.contains($0) }, "\(file.path): \(line)")
      }
    }
  }

  /// By the C library: there are some ten thousand lines, and a hundred forms.
  private static func holds(_ text: String, _ form: String) -> Bool { strstr(text, form) != nil }
}

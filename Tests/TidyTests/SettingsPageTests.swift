import FerrySettings
import Testing

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

  /// Nothing else in the documents is called a setting.
  @Test func documentsNameSettingsOnlyThatThereAre() throws {
    let known = Set(SettingsCatalogue.all.map(\.variable))
    for path in ["README.md", "ARCHITECTURE.md", "docs/settings.md", "Dockerfile", "deploy/compose.yaml"] {
      for match in try Tree.text(path).matches(of: /FERRY_[A-Z][A-Z_]*/) {
        #expect(known.contains(String(match.0)), "\(path): \(match.0)")
      }
    }
  }
}

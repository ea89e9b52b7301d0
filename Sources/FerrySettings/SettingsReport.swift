package import JSON

/// All effective settings with their origins. Secrets are redacted.
package struct SettingsReport: Sendable, JSONEncodable {
  static let redacted = "<redacted>"

  private struct Row: Sendable {
    let setting: any AnySetting
    let given: SettingValue?

    /// The text form of the value; `nil` if there is neither a value nor a default.
    var text: String? {
      guard let text = given?.text else { return setting.defaultText }
      return setting.traits.contains(.secret) ? redacted : text
    }
  }

  private let rows: [Row]

  package init(_ settings: Settings) {
    let shown = SettingsCatalogue.all.filter {
      !$0.traits.contains(.hidden) || settings.given[$0.name] != nil
    }
    rows = shown.map { Row(setting: $0, given: settings.given[$0.name]) }
  }

  /// The text form in three columns, one line per setting.
  package var table: String {
    let cells = rows.map { row in
      let value = row.text.map { Self.printable($0) } ?? "(\(row.setting.withoutValue))"
      return [row.setting.name, value, Self.source(row.given?.origin)]
    }
    return TextTable.lines(cells)
  }

  private static func source(_ origin: SettingOrigin?) -> String {
    switch origin {
    case .commandLine(let name)?, .environment(let name)?: name
    case .file(let path, _)?: printable(path)
    case .workingDirectory?: "found in the working directory"
    case nil: "default"
    }
  }

  /// Returns the text in one line.
  private static func printable(_ text: String) -> String {
    text.isEmpty ? "''" : text.map { $0.isNewline ? "\\n" : String($0) }.joined()
  }

  package func encode(into writer: inout JSONWriter) {
    writer.object { encodeRows(into: &$0) }
  }

  func encodeRows(into writer: inout JSONWriter) {
    writer.arrayField("settings", rows) { writer, row in
      writer.object { writer in
        writer.field("name", row.setting.member)
        Self.encode(row, into: &writer)
        switch row.given?.origin {
        case .commandLine(let name)?: Self.encode("commandLine", from: name, into: &writer)
        case .environment(let name)?: Self.encode("environment", from: name, into: &writer)
        case .file(let path, _)?: Self.encode("file", from: path, into: &writer)
        case .workingDirectory?: Self.encode("workingDirectory", from: nil, into: &writer)
        case nil: Self.encode("default", from: nil, into: &writer)
        }
      }
    }
  }

  private static func encode(_ source: String, from: String?, into writer: inout JSONWriter) {
    writer.field("source", source)
    writer.field("from", from)
  }

  /// Writes the value with its type in the settings file.
  private static func encode(_ row: Row, into writer: inout JSONWriter) {
    writer.key("value")
    let isSecret = row.setting.traits.contains(.secret) && row.given != nil
    switch (row.setting.form, row.text) {
    case (_, _) where isSecret: writer.value(redacted)
    case (.list, let text):
      let parts = row.setting.form.parts(text ?? "")
      writer.array { writer in
        for part in parts {
          writer.element()
          writer.value(part)
        }
      }
    case (_, nil): writer.null()
    case (.integer, let text?): writer.value(Int64(text) ?? 0)
    case (.decimal, let text?): writer.value(Double(text) ?? 0)
    case (.flag, let text?): writer.value(text == "true")
    case (_, let text?): writer.value(text)
    }
  }
}

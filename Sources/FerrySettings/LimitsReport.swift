package import JSON
internal import Limits

/// Every limit: what it bounds, its default, the most that it can be set to, and what happens beyond it.
package struct LimitsReport: Sendable, JSONEncodable {
  /// One limit, fixed or a setting.
  package struct Row: Sendable, Equatable {
    /// The name of a fixed limit; the option of a setting.
    package let name: String
    package let meaning: String
    package let initial: String
    /// The same as `initial` for a fixed limit.
    package let most: String
    package let beyond: String
  }

  package init() {}

  package static let rows: [Row] =
    settings
    + Limits.all.map { limit in
      let value = value(limit)
      return Row(
        name: limit.name, meaning: limit.meaning, initial: value, most: value, beyond: limit.beyond)
    }

  /// Limits that an operator may change.
  private static let settings: [Row] = {
    let all = SettingsCatalogue.shared
    return [
      row(all.maximumBodySize, "the task ends with bodyTooLarge"),
      row(all.maximumBodyBytes, "the oldest bodies are deleted first"),
      row(all.maximumEphemeralBytes, "507; a running task ends with quotaExceeded"),
      row(all.maximumTransfers, "further tasks wait"),
      row(
        all.maximumConnections,
        "the connection that has been idle longest is closed; if none is idle, new ones wait"),
      row(all.maximumAuthenticationAttempts, "the task ends with attemptLimitReached"),
    ]
  }()

  private static func row(_ setting: any AnySetting, _ beyond: String) -> Row {
    let meaning = setting.help.split(separator: ";").first.map(String.init) ?? setting.help
    return Row(
      name: setting.option, meaning: meaning.hasSuffix(".") ? String(meaning.dropLast()) : meaning,
      initial: setting.shownDefault, most: setting.form.most ?? "any number", beyond: beyond)
  }

  /// One line for each.
  package var table: String {
    TextTable.lines(
      Self.rows.map { row in
        let most = row.most == row.initial ? "" : "; at most: \(row.most)"
        return [row.name, row.initial, "\(row.meaning)\(most); beyond: \(row.beyond)"]
      })
  }

  /// With its unit.
  private static func value(_ limit: Limit) -> String {
    switch limit.unit {
    case .bytes: "\(limit.value) bytes"
    case .seconds: "\(limit.value) seconds"
    case .count: "\(limit.value)"
    }
  }

  package func encode(into writer: inout JSONWriter) {
    writer.object { writer in
      writer.arrayField("limits", Limits.all) { writer, limit in
        writer.object { writer in
          writer.field("name", limit.name)
          writer.field("value", limit.value)
          writer.field("unit", limit.unit.rawValue)
          writer.field("meaning", limit.meaning)
          writer.field("beyond", limit.beyond)
        }
      }
      writer.arrayField("settings", Self.settings) { writer, row in
        writer.object { writer in
          writer.field("option", row.name)
          writer.field("default", row.initial)
          writer.field("most", row.most)
          writer.field("meaning", row.meaning)
          writer.field("beyond", row.beyond)
        }
      }
    }
  }
}

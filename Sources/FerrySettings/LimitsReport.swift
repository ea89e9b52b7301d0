package import JSON
internal import Limits

/// The table of all limits, with meaning, default, maximum and the consequence of exceeding each.
package struct LimitsReport: Sendable, JSONEncodable {
  /// A fixed limit, or a limit that is a setting.
  package struct Row: Sendable, Equatable {
    /// The name of a fixed limit, or the option of a setting.
    package let name: String
    package let meaning: String
    package let initial: String
    /// The maximum of a setting; equal to `initial` for a fixed limit.
    package let maximum: String
    package let beyond: String
  }

  package init() {}

  package static let rows: [Row] =
    settings
    + Limits.all.map { limit in
      let value = value(limit)
      return Row(
        name: limit.name, meaning: limit.meaning, initial: value, maximum: value, beyond: limit.consequence)
    }

  /// The limits that an operator may change.
  private static let settings: [Row] = {
    let all = SettingsCatalogue.shared
    return [
      row(all.maximumBodySize, "the task ends with bodyTooLarge"),
      row(all.maximumBodyBytes, "the oldest bodies are deleted first"),
      row(all.maximumEphemeralBytes, "507; a running task ends with quotaExceeded"),
      row(all.maximumTransfers, "further tasks wait"),
      row(
        all.maximumConnections,
        "the connection that has been idle longest is closed; if none is idle, new connections wait"),
      row(all.maximumAuthenticationAttempts, "the task ends with attemptLimitReached"),
    ]
  }()

  private static func row(_ setting: any AnySetting, _ beyond: String) -> Row {
    let meaning = setting.help.split(separator: ";").first.map(String.init) ?? setting.help
    return Row(
      name: setting.option, meaning: meaning.hasSuffix(".") ? String(meaning.dropLast()) : meaning,
      initial: setting.shownDefault, maximum: setting.form.most ?? "any number", beyond: beyond)
  }

  /// The text form, one line per limit.
  package var table: String {
    TextTable.lines(
      Self.rows.map { row in
        let most = row.maximum == row.initial ? "" : "; at most: \(row.maximum)"
        return [row.name, row.initial, "\(row.meaning)\(most); beyond: \(row.beyond)"]
      })
  }

  /// Returns the value with its unit.
  private static func value(_ limit: Limit) -> String {
    switch limit.unit {
    case .bytes: "\(limit.value) bytes"
    case .seconds: "\(limit.value) seconds"
    case .count: "\(limit.value)"
    }
  }

  /// Writes the limits that are no settings.
  static func encodeFixed(into writer: inout JSONWriter) {
    writer.arrayField("limits", Limits.all) { writer, limit in
      writer.object { writer in
        writer.field("name", limit.name)
        writer.field("value", limit.value)
        writer.field("unit", limit.unit.rawValue)
        writer.field("meaning", limit.meaning)
        writer.field("beyond", limit.consequence)
      }
    }
  }

  package func encode(into writer: inout JSONWriter) {
    writer.object { writer in
      Self.encodeFixed(into: &writer)
      writer.arrayField("settings", Self.settings) { writer, row in
        writer.object { writer in
          writer.field("option", row.name)
          writer.field("default", row.initial)
          writer.field("most", row.maximum)
          writer.field("meaning", row.meaning)
          writer.field("beyond", row.beyond)
        }
      }
    }
  }
}

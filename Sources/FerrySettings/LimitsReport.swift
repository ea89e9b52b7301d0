package import JSON
internal import Limits

/// Every limit that no setting changes, and what happens beyond it.
package struct LimitsReport: Sendable, JSONEncodable {
  package init() {}

  /// One line for each, in three columns.
  package var table: String {
    let cells = Limits.all.map { limit in
      [limit.name, Self.value(limit), "\(limit.meaning); beyond: \(limit.beyond)"]
    }
    return TextTable.lines(cells)
  }

  /// With its unit.
  static func value(_ limit: Limit) -> String {
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
    }
  }
}

package import JSON

/// The settings and the fixed limits of a running service, for its clients.
package struct ServiceReport: Sendable, JSONEncodable {
  private let settings: SettingsReport?

  /// - Parameter settings: the settings to show, or `nil` to show none.
  package init(_ settings: Settings?) { self.settings = settings.map { SettingsReport($0) } }

  package func encode(into writer: inout JSONWriter) {
    writer.object { writer in
      if let settings {
        settings.encodeRows(into: &writer)
      } else {
        writer.arrayField("settings", []) { (_, _: Int) in }
      }
      LimitsReport.encodeFixed(into: &writer)
    }
  }
}

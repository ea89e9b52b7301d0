/// The HTML pages of the service. All of their addresses are relative, so they work under a path prefix.
package enum Page {
  /// The dashboard. It has no data itself. Its modules ask for a token and read the API.
  package static func dashboard(version: String) -> [UInt8] {
    page("index.html", ["version": version])
  }

  /// The API reference.
  package static func reference() -> [UInt8] { page("docs.html", [:]) }

  /// The page of a type of problem.
  package static func problem(
    _ name: String, title: String, status: Int, meaning: String, remedy: String
  ) -> [UInt8] {
    page(
      "problem.html",
      ["name": name, "title": title, "status": "\(status)", "meaning": meaning, "remedy": remedy])
  }

  /// Fills the marks `{{name}}` of a template. Values become text.
  private static func page(_ name: String, _ values: [String: String]) -> [UInt8] {
    var text = String(decoding: Assets.all[name]?.bytes ?? [], as: UTF8.self)
    text = text.replacing("{{assets}}", with: Assets.version)
    for (name, value) in values { text = text.replacing("{{\(name)}}", with: escaped(value)) }
    return Array(text.utf8)
  }

  private static func escaped(_ text: String) -> String {
    text.replacing("&", with: "&amp;").replacing("<", with: "&lt;").replacing(">", with: "&gt;")
      .replacing("\"", with: "&quot;")
  }

  /// The content security policy of the dashboard and the problem pages: no inline code or style, nothing from another host, no frame
  /// around the page.
  package static let policy = [
    "default-src 'none'", "script-src 'self'", "style-src 'self'", "img-src 'self'", "connect-src 'self'",
    "base-uri 'none'", "form-action 'none'", "frame-ancestors 'none'", "require-trusted-types-for 'script'",
  ].joined(separator: "; ")

  /// The content security policy of the API reference. RapiDoc writes styles into its elements.
  package static let referencePolicy = [
    "default-src 'none'", "script-src 'self'", "style-src 'self' 'unsafe-inline'", "img-src 'self' data:",
    "connect-src 'self'", "base-uri 'none'", "form-action 'none'", "frame-ancestors 'none'",
  ].joined(separator: "; ")
}

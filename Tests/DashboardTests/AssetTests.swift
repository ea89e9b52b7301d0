import Crypto
import Foundation
import Testing

@testable import Dashboard

/// The files of pages, and the list of their licences.
@Suite struct AssetTests {
  private static let root = URL(filePath: #filePath).deletingLastPathComponent()
    .deletingLastPathComponent().deletingLastPathComponent()
  private static let folder = root.appending(path: "Sources/CDashboard/Assets")

  private static func digest(_ bytes: [UInt8]) -> String {
    SHA256.hash(data: bytes).map { String(format: "%02x", $0) }.joined()
  }

  /// The rows of the list of assets, by name.
  private static func listed() throws -> [String: [String]] {
    let text = try String(contentsOf: root.appending(path: "Sources/Dashboard/ASSETS.md"), encoding: .utf8)
    var rows: [String: [String]] = [:]
    for line in text.split(separator: "\n") where line.hasPrefix("| `") {
      let cells = line.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) }
      rows[cells[0].trimmingCharacters(in: ["`"])] = cells
    }
    return rows
  }

  @Test func `program has each file of the folder`() throws {
    let all = FileManager.default.enumerator(atPath: Self.folder.path)
    let names = (all?.allObjects as? [String] ?? []).filter { $0.contains(".") }
    #expect(Set(names) == Set(Assets.all.keys))
    for name in names {
      let bytes = try [UInt8](Data(contentsOf: Self.folder.appending(path: name)))
      #expect(Assets.all[name]?.bytes == bytes, "\(name)")
    }
  }

  @Test func `list of assets has each file with its licence`() throws {
    let rows = try Self.listed()
    // The contract and the files of Ferry change often, and have Ferry's licence.
    let foreign = Assets.all.values.filter { $0.name.hasPrefix("vendor/") }
    #expect(Set(foreign.map(\.name)).isSubset(of: rows.keys))
    #expect(Set(rows.keys) == Set(Assets.all.keys))
    for (name, cells) in rows {
      try #require(cells.count == 4, "\(name)")
      #expect(!cells[1].isEmpty && !cells[2].isEmpty, "\(name)")
      guard name.hasPrefix("vendor/") else {
        #expect(cells[1] == "Apache-2.0" && cells[2] == "Ferry", "\(name)")
        continue
      }
      let bytes = try #require(Assets.all[name]?.bytes)
      #expect(cells[3] == "`\(Self.digest(bytes))`", "\(name)")
    }
  }

  /// The upstream file, which is no module, has this digest.
  @Test func `uPlot differs from its origin only by the line that exports it`() throws {
    let bytes = try #require(Assets.all["vendor/uplot.js"]?.bytes)
    let added = Array("export default uPlot;\n".utf8)
    #expect(bytes.suffix(added.count).elementsEqual(added))
    let list = try String(
      contentsOf: Self.root.appending(path: "Sources/Dashboard/ASSETS.md"), encoding: .utf8)
    #expect(list.contains(Self.digest(Array(bytes.dropLast(added.count)))))
  }

  @Test func `version depends on the content`() {
    #expect(Assets.version.count == 16 && Assets.version.allSatisfy(\.isHexDigit))
  }

  @Test(arguments: [
    ("app.css", "text/css; charset=utf-8"), ("main.js", "text/javascript; charset=utf-8"),
    ("icon.svg", "image/svg+xml"),
  ]) func `asset has the type of its extension`(_ name: String, _ type: String) {
    #expect(Assets.served(name)?.type == type)
  }

  @Test(arguments: ["index.html", "openapi.json", "none.js", "../main.js", ""])
  func `template and unknown name are not served`(_ name: String) {
    #expect(Assets.served(name) == nil)
  }

  /// Text of other hosts is only ever inserted as text, and nothing comes from another host.
  @Test func `modules write no HTML and load nothing from other hosts`() {
    for asset in Assets.all.values where asset.name.hasSuffix(".js") && !asset.name.hasPrefix("vendor/") {
      let text = String(decoding: asset.bytes, as: UTF8.self)
      for word in ["innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "new Function"]
      {
        #expect(!text.contains(word), "\(asset.name) has \(word)")
      }
      #expect(!text.contains(#/import [^;]*"https?:/#), "\(asset.name) loads a module of another host")
    }
  }

  @Test func `pages have no inline script or style, and relative addresses only`() {
    let pages = [
      Page.dashboard(version: "1"), Page.reference(),
      Page.problem("conflict", title: "T", status: 409, meaning: "M", remedy: "R"),
    ]
    for page in pages.map({ String(decoding: $0, as: UTF8.self) }) {
      #expect(!page.contains("{{") && !page.contains("<style") && !page.contains(" style="))
      #expect(!page.contains(#/<script(?![^>]* src=)/#))
      #expect(!page.contains(#/(?:src|href)="(?:/|https?:)/#))
    }
  }

  @Test func `page inserts values as text`() {
    let page = Page.problem("x", title: "<b> & \"", status: 400, meaning: "m", remedy: "r")
    #expect(String(decoding: page, as: UTF8.self).contains("&lt;b&gt; &amp; &quot;"))
  }

  @Test func `policies allow no inline script and no frame`() {
    for policy in [Page.policy, Page.referencePolicy] {
      let scripts = policy.split(separator: ";").first { $0.contains("script-src") }
      #expect(scripts?.contains("unsafe") == false && policy.contains("frame-ancestors 'none'"))
      #expect(policy.contains("default-src 'none'"))
    }
    #expect(!Page.policy.contains("unsafe"))
  }
}

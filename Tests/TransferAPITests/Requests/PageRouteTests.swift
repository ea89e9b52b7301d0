import ContentCoding
import JSON
import TestSupport
import Testing

@testable import TransferAPI

/// The pages for people, and the files that they load.
@Suite(.blocking, .sharing) struct PageRouteTests {
  private let place: InProcessAPI
  /// The field Accept of a browser.
  private static let browser = [("Accept", "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8")]

  init() throws { place = try .ofSuite() }

  private func get(
    _ path: String, _ fields: [(String, String)] = browser, method: String = "GET"
  ) throws -> HTTPReply {
    try place.send(method, path, nil, fields)
  }

  @Test(arguments: ["/", "/docs", "/problems/conflict"])
  func `page is served to browsers with a strict policy`(_ path: String) throws {
    let reply = try get(path)
    #expect(reply.status == 200 && reply["Content-Type"] == "text/html; charset=utf-8")
    let policy = try #require(reply["Content-Security-Policy"])
    #expect(policy.contains("default-src 'none'") && policy.contains("script-src 'self';"))
    #expect(policy.contains("frame-ancestors 'none'") && !policy.contains("unsafe-eval"))
    #expect(policy.contains("unsafe-inline") == (path == "/docs"))
    #expect(reply["X-Content-Type-Options"] == "nosniff" && reply["X-Frame-Options"] == "DENY")
    #expect(reply["Cache-Control"] == "no-cache" && reply["Referrer-Policy"] == "no-referrer")
    let tag = try #require(reply["ETag"])
    #expect(try get(path, Self.browser + [("If-None-Match", tag)]).status == 304)
    let head = try get(path, method: "HEAD")
    #expect(head.status == 200 && head.body.isEmpty && head["ETag"] == tag)
  }

  @Test func `path of the reference with a slash leads to the path without one`() throws {
    let reply = try get("/docs/")
    #expect(reply.status == 308 && reply["Location"] == "../docs")
  }

  @Test(arguments: [nil, "*/*", "application/json", "text/html;q=0.5, application/json"])
  func `root is not found by programs`(_ accept: String?) throws {
    let reply = try get("/", accept.map { [("Accept", $0)] } ?? [])
    #expect(reply.status == 404 && reply.json["type"]?.string == "/problems/not-found")
  }

  @Test func `each file that the dashboard names is served and may be kept`() throws {
    let page = try get("/").text
    let names = page.matches(of: #/(?:src|href)="(assets/[^"]+)"/#).map { String($0.output.1) }
    #expect(names.count == 3)
    for name in names {
      let reply = try get("/" + name, [])
      #expect(reply.status == 200 && !reply.body.isEmpty, "\(name)")
      #expect(reply["Cache-Control"]?.contains("immutable") == true && reply["Content-Encoding"] == nil)
      let compressed = try get("/" + name, [("Accept-Encoding", "br, gzip")])
      #expect(compressed["Content-Encoding"] == "gzip" && compressed["Vary"] == "Accept-Encoding")
      let isLarge = reply.body.count > 1000
      #expect(!isLarge || compressed.body.count < reply.body.count)
      #expect(compressed["Content-Type"] == reply["Content-Type"])
    }
    let folder = try #require(names.last?.split(separator: "/").dropLast().joined(separator: "/"))
    #expect(try get("/\(folder)/views/tasks.js", []).status == 200)
  }

  @Test(arguments: ["/assets/0/main.js", "VERSION/none.js", "VERSION/index.html", "VERSION/views/none.js"])
  func `unknown file is not found`(_ path: String) throws {
    let page = try get("/").text
    let version = try #require(page.firstMatch(of: #/assets/([0-9a-f]+)//#)?.output.1)
    let reply = try get(path.replacing("VERSION", with: "/assets/\(version)"), [])
    #expect(reply.status == 404 && reply.json["detail"]?.string?.contains("load the page again") == true)
  }

  @Test(arguments: ProblemKind.all) func `problem has a page and a document`(_ kind: ProblemKind) throws {
    let page = try get("/problems/" + kind.slug)
    #expect(page["Content-Type"] == "text/html; charset=utf-8" && page.text.contains("\(kind.status)"))
    for type in ["application/json", "application/problem+json"] {
      let reply = try get("/problems/" + kind.slug, [("Accept", type)])
      #expect(reply.status == 200 && reply["Content-Type"] == type)
      #expect(reply.json["type"]?.string == "/problems/" + kind.slug)
      #expect(reply.json["status"]?.integer == Int64(kind.status))
      #expect(reply.json["detail"]?.string == "\(kind.meaning) \(kind.remedy)")
    }
  }

  @Test func `unknown problem and excluded type are refused`() throws {
    #expect(try get("/problems/none").status == 404)
    #expect(try get("/problems/conflict", [("Accept", "image/png")]).status == 406)
    #expect(try get("/problems/conflict", []).text.hasPrefix("<!doctype html>"))
  }

  @Test func `contract in JSON describes itself`() throws {
    let reply = try get("/openapi.json", [])
    #expect(reply.status == 200 && reply["Content-Type"] == "application/json")
    #expect(reply.json["paths"]?["/openapi.json"] != nil && reply.json["openapi"]?.string == "3.1.0")
    #expect(try get("/openapi.json", [("Accept-Encoding", "gzip")])["Content-Encoding"] == "gzip")
  }

  /// Without tokens, the pages too are served to this machine only.
  @Test func `other methods are refused`() throws {
    for path in ["/", "/docs", "/openapi.json", "/problems/conflict"] {
      let reply = try get(path, method: "DELETE")
      #expect(reply.status == 405 && reply["Allow"] == "GET, HEAD, OPTIONS")
    }
  }
}

import Dashboard
import Foundation
import Testing
import Yams

@testable import TransferAPI

/// `openapi.yaml` and the routes agree.
@Suite struct OpenAPITests {
  private func document() throws -> [String: Any] {
    try #require(try Yams.load(yaml: SourceTree.text("openapi.yaml")) as? [String: Any])
  }

  @Test func `described operations and routes are equal`() throws {
    let paths = try #require(try document()["paths"] as? [String: [String: Any]])
    let methods = ["get", "post", "put", "patch", "delete"]
    let described = paths.flatMap { path, item in
      item.keys.filter(methods.contains).map { "\($0.uppercased()) \(path)" }
    }
    // Pages load assets, whose addresses change with each build.
    let routes = TransferAPI.routes.filter { !$0.pattern.hasPrefix(TransferAPI.assetPath) }.map {
      "\($0.method) \($0.pattern)"
    }
    #expect(Set(described).subtracting(routes).sorted() == [], "described, but not served")
    #expect(Set(routes).subtracting(described).sorted() == [], "served, but not described")
  }

  @Test func `path parameters are declared`() throws {
    let document = try document()
    let components = try #require(document["components"] as? [String: Any])
    let shared = components["parameters"] as? [String: [String: Any]] ?? [:]
    for (path, item) in try #require(document["paths"] as? [String: [String: Any]]) {
      let names = path.split(separator: "/").filter { $0.hasPrefix("{") }.map {
        String($0.dropFirst().dropLast())
      }
      for (method, value) in item where ["get", "post", "put", "patch", "delete"].contains(method) {
        let operation = try #require(value as? [String: Any])
        let all =
          (item["parameters"] as? [[String: Any]] ?? []) + (operation["parameters"] as? [[String: Any]] ?? [])
        let declared = all.compactMap { parameter -> String? in
          guard let reference = parameter["$ref"] as? String else { return parameter["name"] as? String }
          return shared[String(reference.split(separator: "/").last ?? "")]?["name"] as? String
        }
        #expect(Set(names).isSubset(of: declared), "\(method) \(path) declares \(declared)")
        #expect(operation["operationId"] is String, "\(method) \(path) has no operationId")
      }
    }
  }

  @Test func `every operation has a description and a unique id`() throws {
    let document = try document()
    let components = try #require(document["components"] as? [String: Any])
    let callbacks = try #require(components["pathItems"] as? [String: [String: Any]])
    let paths = try #require(document["paths"] as? [String: [String: Any]])
    var names: Set<String> = []
    for (path, item) in paths.merging(callbacks, uniquingKeysWith: { $1 }) {
      for (method, value) in item where ["get", "post", "put", "patch", "delete"].contains(method) {
        let operation = try #require(value as? [String: Any])
        let name = try #require(operation["operationId"] as? String, "\(method) \(path)")
        #expect(names.insert(name).inserted, "two operations are called \(name)")
        #expect((operation["description"] as? String)?.isEmpty == false, "\(name) has no description")
      }
    }
  }

  @Test func `every problem is listed and has a page`() throws {
    let components = try #require(try document()["components"] as? [String: Any])
    let schemas = try #require(components["schemas"] as? [String: [String: Any]])
    let described = try #require(schemas["ProblemName"]?["enum"] as? [String])
    #expect(Set(described) == Set(ProblemKind.all.map(\.slug)))
    // Only this file can make a type of problem, because the initializer is private to it.
    let source = try SourceTree.text("Sources/TransferAPI/Messages/ProblemKind.swift")
    let declared = source.matches(of: #/static let \w+ = Self\(\s*"([^"]+)"/#).map { String($0.output.1) }
    #expect(declared.sorted() == ProblemKind.all.map(\.slug).sorted())
    #expect(source.contains("private init("))
  }

  /// If the file is out of date, the test writes it and fails once.
  @Test func `contract in JSON has the content of the YAML`() throws {
    let path = "Sources/CDashboard/Assets/openapi.json"
    let node = try #require(try Yams.compose(yaml: SourceTree.text("openapi.yaml")))
    var wanted = ""
    try OpenAPIJSON.write(node, to: &wanted)
    guard try SourceTree.text(path) != wanted + "\n" else {
      #expect(Assets.contract.bytes == Array((wanted + "\n").utf8), "build again")
      return
    }
    try (wanted + "\n").write(
      to: SourceTree.root.appendingPathComponent(path), atomically: true, encoding: .utf8)
    Issue.record("\(path) was out of date; the test has written it")
  }

  @Test(arguments: [0, 1, 20]) func `readiness has the described form`(_ refused: Int) throws {
    let components = try #require(try document()["components"] as? [String: Any])
    let responses = try #require(components["responses"] as? [String: [String: Any]])
    let content = try #require(responses["Ready"]?["content"] as? [String: [String: Any]])
    let schema = try #require(content["text/plain"]?["schema"] as? [String: Any])
    let pattern = try Regex(try #require(schema["pattern"] as? String))
    #expect(TransferAPI.readiness(refused: refused).wholeMatch(of: pattern) != nil)
  }
}

import Foundation
import Testing

@testable import FerrySettings

/// The JSON file is read strictly, and messages say where.
@Suite struct SettingsFileTests {
  private func read(_ text: String) throws(SettingsError) -> [String: String] {
    try SettingsFile.read(Array(text.utf8), path: "f.json")
  }

  @Test func valuesAreAsTheEnvironmentWouldGiveThem() throws {
    let text = """
      {"dataDirectory": "/d", "log-level": "debug", "workers": 3, "maximumTransfers": "5", "newDatabase": true,
       "discretionaryMaximumLoad": 1.5, "allowNetwork": ["10.0.0.0/8", "127.0.0.0/8"], "interface-class": "a=cellular",
       "tokens": ["one", "a two"]}
      """
    #expect(
      try read(text) == [
        "data-directory": "/d", "log-level": "debug", "workers": "3", "maximum-transfers": "5",
        "new-database": "true", "discretionary-maximum-load": "1.5",
        "allow-network": "10.0.0.0/8 127.0.0.0/8",
        "interface-class": "a=cellular", "tokens": "one\na two",
      ])
  }

  @Test(
    arguments: [
      (#"{"workers":"#, "f.json, line 1, column 12: unexpected end"),
      ("{\n  \"workers\": 1,\n  \"workers\": 2}", "f.json, line 3, column 12: duplicate member 'workers'"),
      ("{\"dataDirectory\": \"ü\" 1}", "f.json, line 1, column 23: expected ',' or '}'"),
      ("[]", "f.json has an array in it, and not an object of settings"),
      (#"{"worker": 1}"#, "unknown option 'worker' in f.json; did you mean workers?"),
      (#"{"datadirectory": 1}"#, "unknown option 'datadirectory' in f.json; did you mean dataDirectory?"),
      (#"{"": 1}"#, "unknown option '' in f.json"),
      (#"{"config": "x"}"#, "unknown option 'config' in f.json"),
      (#"{"workers": true}"#, "'workers' in f.json must be a number, not a boolean"),
      (#"{"workers": null}"#, "'workers' in f.json must be a number, not null"),
      (#"{"workers": [1]}"#, "'workers' in f.json must be a number, not an array"),
      (#"{"listen": 8080}"#, "'listen' in f.json must be a string, not a number"),
      (#"{"newDatabase": 1}"#, "'newDatabase' in f.json must be true or false, not a number"),
      (
        #"{"allowNetwork": [1]}"#,
        "'allowNetwork' in f.json must be an array of strings, or a string, not an array"
      ),
      (
        #"{"dataDirectory": "a", "data-directory": "b"}"#,
        "f.json gives 'data-directory' twice, once with another spelling"
      ),
    ])
  func mistakes(_ text: String, _ message: String) {
    #expect { try read(text) } throws: { "\($0)".hasPrefix("config: \(message)") }
  }

  @Test(arguments: [
    ("", 0, 1, 1), ("a", 1, 1, 2), ("a\n", 2, 2, 1), ("a\nüb", 4, 2, 2), ("\n\n\n", 2, 3, 1), ("é", 9, 1, 2),
  ])
  func places(_ text: String, _ offset: Int, _ line: Int, _ column: Int) {
    let place = SettingsFile.place(of: offset, in: Array(text.utf8))
    #expect(place.line == line && place.column == column)
  }

  @Test(arguments: [
    ("", "", 0), ("a", "", 1), ("", "ab", 2), ("abc", "abc", 0), ("abc", "acb", 1), ("abc", "axc", 1),
    ("kitten", "sitting", 3),
  ])
  func distances(_ one: String, _ other: String, _ expected: Int) {
    #expect(NearestName.distance(Array(one), Array(other)) == expected)
    #expect(NearestName.distance(Array(other), Array(one)) == expected)
  }

  @Test func whatIsFarIsNotMeant() {
    #expect(NearestName.find("listne", among: ["listen", "workers"]) == "listen")
    #expect(NearestName.find("nothing", among: ["listen", "workers"]) == nil)
    #expect(NearestName.find("a", among: []) == nil)
  }
}

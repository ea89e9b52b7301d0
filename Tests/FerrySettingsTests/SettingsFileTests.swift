import Foundation
import Testing

@testable import FerrySettings

/// The JSON file is read strictly, and messages state the position.
@Suite struct SettingsFileTests {
  private func read(_ text: String) throws(SettingsError) -> [String: String] {
    try SettingsFile.read(Array(text.utf8), path: "f.json")
  }

  @Test func `values have the form of the environment`() throws {
    let text = """
      {"dataDirectory": "/d", "log-level": "debug", "transferLoops": 3, "maximumTransfers": "5", "newDatabase": true,
       "discretionaryMaximumLoad": 1.5, "allowNetwork": ["10.0.0.0/8", "127.0.0.0/8"], "interface-class": "a=cellular",
       "tokens": ["one", "a two"]}
      """
    #expect(
      try read(text) == [
        "data-directory": "/d", "log-level": "debug", "transfer-loops": "3", "maximum-transfers": "5",
        "new-database": "true", "discretionary-maximum-load": "1.5",
        "allow-network": "10.0.0.0/8 127.0.0.0/8",
        "interface-class": "a=cellular", "tokens": "one\na two",
      ])
  }

  @Test(
    arguments: [
      (#"{"transferLoops":"#, "f.json, line 1, column 18: unexpected end"),
      ("{\n  \"workers\": 1,\n  \"workers\": 2}", "f.json, line 3, column 12: duplicate member 'workers'"),
      ("{\"dataDirectory\": \"ü\" 1}", "f.json, line 1, column 23: expected ',' or '}'"),
      ("[]", "f.json contains an array; it must contain an object of settings"),
      (#"{"transferLoop": 1}"#, "'transferLoop' in f.json is not a setting; did you mean transferLoops?"),
      (#"{"workers": 1}"#, "'workers' in f.json is not a setting; it is called transferLoops now"),
      (#"{"datadirectory": 1}"#, "'datadirectory' in f.json is not a setting; did you mean dataDirectory?"),
      (#"{"": 1}"#, "'' in f.json is not a setting"),
      (#"{"config": "x"}"#, "'config' in f.json is not a setting"),
      (#"{"transferLoops": true}"#, "'transferLoops' in f.json must be a number, not a boolean"),
      (#"{"transferLoops": null}"#, "'transferLoops' in f.json must be a number, not null"),
      (#"{"transferLoops": [1]}"#, "'transferLoops' in f.json must be a number, not an array"),
      (#"{"listen": 8080}"#, "'listen' in f.json must be a string, not a number"),
      (#"{"newDatabase": 1}"#, "'newDatabase' in f.json must be true or false, not a number"),
      (
        #"{"allowNetwork": [1]}"#,
        "'allowNetwork' in f.json must be an array of strings, or a string, not an array"
      ),
      (
        #"{"dataDirectory": "a", "data-directory": "b"}"#,
        "f.json gives 'data-directory' twice, in two spellings; remove one of them"
      ),
    ])
  func `mistakes are reported with their place`(_ text: String, _ message: String) {
    #expect { try read(text) } throws: { "\($0)".hasPrefix("config: \(message)") }
  }

  @Test(arguments: [
    ("", 0, 1, 1), ("a", 1, 1, 2), ("a\n", 2, 2, 1), ("a\nüb", 4, 2, 2), ("\n\n\n", 2, 3, 1), ("é", 9, 1, 2),
  ])
  func `place has line and column`(_ text: String, _ offset: Int, _ line: Int, _ column: Int) {
    let place = SettingsFile.place(of: offset, in: Array(text.utf8))
    #expect(place.line == line && place.column == column)
  }

  @Test(arguments: [
    ("", "", 0), ("a", "", 1), ("", "ab", 2), ("abc", "abc", 0), ("abc", "acb", 1), ("abc", "axc", 1),
    ("kitten", "sitting", 3),
  ])
  func `edit distance counts changes`(_ one: String, _ other: String, _ expected: Int) {
    #expect(SpellingSuggestion.distance(Array(one), Array(other)) == expected)
    #expect(SpellingSuggestion.distance(Array(other), Array(one)) == expected)
  }

  @Test func `only similar names are suggested`() {
    #expect(SpellingSuggestion.find("listne", among: ["listen", "workers"]) == "listen")
    #expect(SpellingSuggestion.find("nothing", among: ["listen", "workers"]) == nil)
    #expect(SpellingSuggestion.find("a", among: []) == nil)
  }
}

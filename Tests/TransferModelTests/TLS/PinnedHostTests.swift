import JSON
import Testing

@testable import TransferModel

@Suite struct PinnedHostTests {
  @Test(arguments: [
    ("example.test", "example.test", true), ("Example.TEST", "example.test", true),
    ("example.test", "www.example.test", false), ("www.example.test", "example.test", false),
    ("*.example.test", "www.example.test", true), ("*.Example.test", "www.example.test", true),
    ("*.example.test", "a.b.example.test", true), ("*.example.test", "example.test", false),
    ("*.example.test", "badexample.test", false), ("*.example.test", "www.example.test.evil", false),
    ("127.0.0.1", "127.0.0.1", true), ("::1", "::1", true), ("*.0.0.1", "127.0.0.2", false),
    ("0:0::1", "::1", true), ("::FFFF:127.0.0.1", "::ffff:7f00:1", true), ("::1", "::2", false),
    ("::1", "localhost", false),
  ]) func `pattern covers exactly its hosts`(_ pattern: String, _ host: String, _ covers: Bool) {
    #expect(PinnedHost(pattern: pattern, keys: []).covers(host) == covers)
  }

  /// One key in 64 begins with a slash in base64.
  @Test(arguments: ["sha256/", "sha256//"]) func `every key can be pinned`(_ prefix: String) throws {
    for first in UInt8.min...UInt8.max {
      let key = [first] + [UInt8](repeating: 255, count: 31)
      let pins = JSONValue.object([
        .init(name: "a.test", value: .array([.string(prefix + Base64.encode(key))]))
      ])
      let violations = Violations()
      #expect(PinnedHost.read(pins, at: "", violations).map(\.keys) == [[key]], "\(first)")
      #expect(violations.all.isEmpty)
    }
  }

  @Test(arguments: ["", "sha256/", "sha256", "sha1/", "sha256///"]) func pinPrefix(_ prefix: String) throws {
    let pins = JSONValue.object([
      .init(
        name: "a.test", value: .array([.string(prefix + Base64.encode([UInt8](repeating: 0, count: 32)))]))
    ])
    let violations = Violations()
    _ = PinnedHost.read(pins, at: "", violations)
    #expect(violations.all.isEmpty == (prefix == "sha256/"))
  }

  /// Returns the faults of a configuration that pins a key for the pattern.
  private func faults(_ pattern: String) throws -> [String] {
    let pin = "sha256/" + String(repeating: "A", count: 43) + "="
    let text = #"{"tlsPinnedPublicKeys":{"\#(pattern)":["\#(pin)"]}}"#
    let violations = Violations()
    var reader = ObjectReader(try JSONParser.parse(Array(text.utf8)), at: "", violations)
    _ = SessionConfiguration(validating: &reader)
    return violations.all.map(\.pointer)
  }

  @Test(arguments: [
    "example.test", "EXAMPLE.test", "*.example.test", "localhost", "a_b.test", "xn--bcher-kva.example",
    "127.0.0.1",
    "::1", "2001:DB8::1", "*.test", "1.example", "0x1.test",
  ]) func `host name, wildcard or address is a pattern`(_ pattern: String) throws {
    #expect(try faults(pattern) == [])
  }

  @Test(arguments: [
    "", "*", "*.", ".", "*.*.test", "a.*.test", "*a.test", ".example.test", "example.test.",
    "*.example.test.",
    "a..test", "bücher.example", "ｌｏｃａｌｈｏｓｔ", "b%C3%BCcher.example", "example.test:443", "[::1]",
    "fe80::1%eth0",
    "https:example.test", "a b", "a@b", " a", "1.2.3", "127.1", "2130706433", "*.0.0.1", "256.0.0.1",
    "a\\u0000",
    "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa.test",
  ]) func `other pattern is refused`(_ pattern: String) throws {
    #expect(try faults(pattern).count == 1)
    if pattern.utf8.allSatisfy({ $0 > 0x20 }), !pattern.contains("\\") {
      #expect(try faults(pattern) == ["/tlsPinnedPublicKeys/" + pattern])
    }
  }
}

import Testing
import TransferModel

@Suite struct PinnedHostTests {
  @Test(arguments: [
    ("example.test", "example.test", true), ("Example.TEST", "example.test", true),
    ("example.test", "www.example.test", false), ("www.example.test", "example.test", false),
    ("*.example.test", "www.example.test", true), ("*.Example.test", "www.example.test", true),
    ("*.example.test", "a.b.example.test", true), ("*.example.test", "example.test", false),
    ("*.example.test", "badexample.test", false), ("*.example.test", "www.example.test.evil", false),
    ("127.0.0.1", "127.0.0.1", true), ("::1", "::1", true), ("*.0.0.1", "127.0.0.2", false),
  ]) func aPatternCoversHosts(_ pattern: String, _ host: String, _ covers: Bool) {
    #expect(PinnedHost(pattern: pattern, keys: []).covers(host) == covers)
  }
}

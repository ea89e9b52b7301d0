import Testing

@testable import TransferAPI

@Suite struct EntityTagTests {
  @Test func `entity tag is quoted and depends on the bytes`() {
    // FNV-1a's offset basis, and its known value for "a".
    #expect(EntityTag.of([]) == "\"" + String(0xCBF2_9CE4_8422_2325 as UInt64, radix: 36) + "\"")
    #expect(EntityTag.of(Array("a".utf8)) == "\"" + String(0xAF63_DC4C_8601_EC8C as UInt64, radix: 36) + "\"")
    let tags = (0...255).map { EntityTag.of([UInt8($0), 1]) }
    #expect(Set(tags).count == 256)
  }

  @Test(
    arguments: [
      (nil, false), ("", false), ("\"x\"", true), ("\"y\"", false), ("x", false), ("*", true), (" * ", true),
      ("W/\"x\"", true), ("w/\"x\"", false), ("\"a\", \"x\"", true), ("\"a\",\"x\" , \"b\"", true),
      ("\"a\", \"b\"", false),
      ("\"xx\"", false), ("\"a\",\t\"x\"", true), (",,\"x\"", true),
    ] as [(String?, Bool)])
  func `entity tag is matched against a list of tags`(_ field: String?, _ expected: Bool) {
    #expect(EntityTag.matches(field, "\"x\"") == expected)
    // A proxy that compresses a response weakens its tag.
    #expect(EntityTag.permits(field, "\"x\"") == (expected || field == nil))
  }
}

import HTTPFields
import JSON
import TestSupport
import Testing
import TransferModel

@testable import HTTPCache

/// Every later version must read the cache on disk. `Tests/Golden/cache` has the metadata of entries as they were written, and the names
/// of files.
@Suite struct GoldenCacheTests {
  private static let time = Timestamp(microseconds: 1_800_000_000_123_456)

  /// One response of each form, with a suffix for the file's name.
  private static var samples: [(String, CachedResponse)] {
    let headers = HTTPHeaders([
      .init(name: "Date", value: "Fri, 15 Jan 2027 08:00:00 GMT"), .init(name: "ETag", value: "\"é\""),
      .init(name: "Link", value: "a"), .init(name: "link", value: "b"),
    ])
    let whole = CachedResponse(
      id: String(repeating: "0a", count: 16), url: "http://a.test/x?y=\"1\"", status: 200,
      httpVersion: "HTTP/2", headers: headers,
      vary: [VaryField(name: "accept", value: "text/html"), VaryField(name: "x-none", value: nil)],
      requestTime: time, responseTime: time.adding(seconds: 1), size: 100,
      sha256: String(repeating: "0b", count: 32), part: nil)
    var part = whole
    part.vary = []
    part.part = ByteRange(first: 5, last: 104, total: 200)
    var open = part
    open.part = ByteRange(first: 5, last: 104, total: nil)
    return [("whole", whole), ("part", part), ("part-of-unknown", open)]
  }

  @Test func `metadata are written and read unchanged`() throws {
    for (variant, response) in Self.samples {
      let name = "cache/1.\(variant)"
      try GoldenFiles.expect(response.json, is: name)
      #expect(CachedResponse(json: try GoldenFiles.bytes(name)) == response, "\(variant)")
    }
    let names = Set(Self.samples.map { "1.\($0.0)" }).union(["names"])
    #expect(try GoldenFiles.names(in: "cache") == names)
  }

  @Test func `metadata of another version are skipped`() throws {
    let text = try GoldenFiles.text("cache/1.whole")
    for version in ["2", "0", "null", "\"1\""] {
      let other = text.replacing(#""version":1"#, with: #""version":\#(version)"#)
      #expect(other != text && CachedResponse(json: Array(other.utf8)) == nil, "\(version)")
    }
  }

  /// An entry is found by its key, and its body by its id.
  @Test func `names of files stay the same`() throws {
    let disk = CacheDisk(directory: "cache")
    let lines = Self.samples.flatMap { _, response in
      [response.key, disk.metaPath(response.key), disk.bodyPath(response.id)]
    }
    try GoldenFiles.expect(lines.joined(separator: "\n\n") + "\n", is: "cache/names")
  }
}

import Foundation
import JSON
import TestSupport
import Testing

/// A body that is much larger after decoding.
@Suite(.serialized, .blocking, .sharing) struct ExpandingBodyTests {
  private let ferry: FerryProcess

  init() throws { ferry = try .ofSuite() }

  /// 256 MiB of zeros, compressed to 256 KiB. Decoding needs little memory and obeys the maximum body size.
  @Test func `expanding body needs little memory`() throws {
    let bytes = try Pattern.gzippedZeros(mebibytes: 256)
    let origin = TestOrigin { _, socket in
      try socket.write(TestOrigin.reply("200 OK", bytes, [("Content-Encoding", "gzip")]))
      return true
    }
    _ = try ferry.run(origin.url + "/warm", kind: "download")
    let gauge = ProcessUsage(ferry.processIdentifier)
    let before = try gauge.residentMemory()
    let task = try ferry.run(origin.url, kind: "download")
    #expect(task["error"] == .null && task["body"]?["size"]?.integer == 256 << 20)
    #expect(try gauge.residentMemory() - before < 64 * 1024)
    let small = try FerryProcess(options: ["--maximum-body-size", "1048576"])
    let refused = try small.run(origin.url, kind: "download")
    #expect(refused["error"]?["name"]?.string == "bodyTooLarge" && refused["body"] == .null, "\(refused)")
  }
}

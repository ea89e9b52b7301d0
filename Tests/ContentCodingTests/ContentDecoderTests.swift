import ContentCoding
import Foundation
import Testing

@Suite struct ContentDecoderTests {
  /// The decoded text of all samples.
  static let text = Array(String(repeating: "Ferry carries bytes. ", count: 2000).utf8)

  struct Coding: Sendable, CustomTestStringConvertible {
    let name: String
    let base64: String
    var isBare = false
    var bytes: [UInt8] { Array(Data(base64Encoded: base64) ?? Data()) }
    var testDescription: String { isBare ? "bare " + name : name }
  }
  static let gzip = Coding(
    name: "gzip",
    base64:
      "H4sIAAAAAAACA+3IsQ3AIAwAsFdyQc/gj4IydE1Y+L53INmjR1adWG/Vlx3z7OwnhpRSSimllFJKKaWUUkoppZRSSimllFJKKaWUUkoppZRSSimllFJKKaWUUkoppZRSSimllFJKKaWUUkoppZRSSimllFJKKaWUUkoppZRSSimllFJKKaWUUkoppZRSSimllFJKKaWUd+YP4EzYyhCkAAA="
  )
  static let bare = Coding(
    name: "deflate",
    base64:
      "7cixDcAgDACwV3JBz+CPgjJ0TVj4vncg2aNHVp1Yb9WXHfPs7CeGlFJKKaWUUkoppZRSSimllFJKKaWUUkoppZRSSimllFJKKaWUUkoppZRSSimllFJKKaWUUkoppZRSSimllFJKKaWUUkoppZRSSimllFJKKaWUUkoppZRSSimllFJKKaWUUkoppZR35g8=",
    isBare: true)
  static let codings = [
    gzip, Coding(name: "X-GZIP", base64: gzip.base64), bare,
    Coding(
      name: "deflate",
      base64:
        "eNrtyLENwCAMALBXckHP4I+CMnRNWPi+dyDZo0dWnVhv1Zcd8+zsJ4aUUkoppZRSSimllFJKKaWUUkoppZRSSimllFJKKaWUUkoppZRSSimllFJKKaWUUkoppZRSSimllFJKKaWUUkoppZRSSimllFJKKaWUUkoppZRSSimllFJKKaWUUkoppZRSSimllHfmD472xFY="
    ),
    Coding(name: "br", base64: "Gw+k+I2Uq+3QFmzAoS04WSC/XCBi1cptRYI+TPKL124C/KgA"),
    Coding(
      name: "deflate, gzip",
      base64:
        "H4sIAAAAAAAAA6u49fbERt4DCjwMG8KLHM8/6G8yKvGN+LGvXOHmYvewuRH5V6fLfn7zRr1tSpCX5lJaE+XP+Pu+HQkDAKeUv0GVAAAA"
    ),
    Coding(name: "zstd", base64: "KLUv/WQQo+0AAKhGZXJyeSBjYXJyaWVzIGJ5dGVzLiABAPFHqE8mORAmKQ=="),
  ]

  private static func list(_ codings: String) -> [String] {
    codings.lowercased().split(separator: ", ").map(String.init)
  }

  /// Decodes pieces of `piece` bytes with `room` bytes of output.
  private func decode(
    _ bytes: [UInt8], _ codings: String, piece: Int = .max, room: Int = 4096
  ) throws -> (text: [UInt8], isComplete: Bool) {
    guard let decoder = try ContentDecoder(codings: Self.list(codings)) else { return (bytes, true) }
    var text: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: room)
    for start in stride(from: 0, to: bytes.count, by: min(piece, max(1, bytes.count))) {
      try bytes[start..<min(start + min(piece, bytes.count), bytes.count)].withUnsafeBytes { piece in
        var rest = piece
        while true {
          let count = try buffer.withUnsafeMutableBytes { try decoder.decode(&rest, into: $0) }
          if count == 0 { break }
          text += buffer[..<count]
        }
        #expect(rest.isEmpty)
      }
    }
    return (text, decoder.isComplete)
  }

  @Test(arguments: codings, [(1, 1), (7, 4096), (Int.max, 3), (Int.max, 1 << 20)])
  func `content is decoded in pieces of any size`(_ coding: Coding, _ sizes: (piece: Int, room: Int)) throws {
    let result = try decode(coding.bytes, coding.name, piece: sizes.piece, room: sizes.room)
    #expect(result.text == Self.text && result.isComplete)
  }

  @Test(arguments: [0, 1, 100, 100_000, 3_000_000], [true, false])
  func `compressed bytes are decoded again`(_ size: Int, _ isRandom: Bool) throws {
    let bytes = (0..<size).map { UInt8(truncatingIfNeeded: isRandom ? .random(in: 0...255) : $0 >> 4) }
    let compressed = try #require(Gzip.compress(bytes))
    let result = try decode(compressed, "gzip", room: 1 << 20)
    #expect(result.text == bytes && result.isComplete)
    #expect(compressed.count < size + size / 1000 + 64)
  }

  /// Content that is cut at any byte is incomplete.
  @Test(arguments: codings) func `cut content is incomplete`(_ coding: Coding) throws {
    let bytes = coding.bytes
    for count in 1..<bytes.count {
      let result = try decode(Array(bytes[..<count]), coding.name)
      #expect(!result.isComplete, "\(count) of \(bytes.count) bytes")
    }
    #expect(try decode([], coding.name).isComplete)
  }

  /// As gunzip and browsers do.
  @Test(
    arguments: codings,
    [[0], [0x0D, 0x0A], [0x0A], [0, 0, 0, 0, 0], Array("<!-- cached -->".utf8), [0, 0x1F, 0x8B, 0x28]])
  func `bytes after the content are ignored`(_ coding: Coding, _ trailing: [UInt8]) throws {
    for piece in [1, coding.bytes.count, .max] {
      let result = try decode(coding.bytes + trailing, coding.name, piece: piece)
      #expect(result.text == Self.text && result.isComplete)
    }
  }

  @Test(arguments: [1, 2, 10, 100]) func `cut gzip member is incomplete`(_ count: Int) throws {
    #expect(try !decode(Self.gzip.bytes + Self.gzip.bytes.prefix(count), "gzip").isComplete)
  }

  @Test func `broken gzip member is malformed`() {
    #expect(throws: ContentDecoder.Fault.malformed) { try decode(Self.gzip.bytes + [0x1F, 0], "gzip") }
  }

  @Test func `gzip members are joined`() throws {
    #expect(try decode(Self.gzip.bytes + Self.gzip.bytes, "gzip").text == Self.text + Self.text)
  }

  @Test(arguments: codings) func `changed byte is detected or harmless`(_ coding: Coding) {
    let bytes = coding.bytes
    for index in bytes.indices {
      var changed = bytes
      changed[index] ^= 0xA5
      // Some bytes of a header are unused. With a checksum, the decoded text is right or the content is malformed or incomplete.
      guard let result = try? decode(changed, coding.name), coding.name.lowercased().contains("gzip") else {
        continue
      }
      #expect(result.text == Self.text || !result.isComplete, "byte \(index)")
    }
  }

  /// For any expansion, the output fits the room, and bytes that are not needed yet are not taken.
  @Test func `output of a decoder is bounded`() throws {
    // A block of 1 MiB of zeros, repeated: blocks may end at byte boundaries (RFC 1951).
    let block: [UInt8] =
      [0xEC, 0xC1, 0x31, 0x01, 0, 0, 0, 0xC2, 0xA0, 0xF5, 0x4F, 0x6D, 0x08, 0x5F, 0xA0]
      + [UInt8](repeating: 0, count: 1016) + [0x3E, 0x03, 0, 0, 0xFF, 0xFF]
    let bomb = Array(repeating: block, count: 64).flatMap(\.self) + [3, 0]
    let decoder = try #require(try ContentDecoder(codings: ["deflate"]))
    var buffer = [UInt8](repeating: 1, count: 65_536)
    var total = 0
    try bomb.withUnsafeBytes { bytes in
      var rest = bytes
      while true {
        let count = try buffer.withUnsafeMutableBytes { try decoder.decode(&rest, into: $0) }
        if count == 0 { break }
        total += count
        #expect(buffer[..<count].allSatisfy { $0 == 0 })
        buffer[0] = 1
        // 64 KiB of output need about 70 bytes of input.
        #expect(bytes.count - rest.count <= total / 900 + 64)
      }
    }
    #expect(total == 64 << 20 && decoder.isComplete)
  }

  @Test(arguments: [
    ("", false), ("rot13", false), ("gzip, rot13", false), ("br, gzip", true),
    ("gzip, gzip, gzip, gzip, gzip", true), ("gzip, gzip, gzip, gzip, gzip, gzip", false),
  ])
  func `unknown codings are not decoded`(_ codings: String, _ isDecoded: Bool) throws {
    #expect(try (ContentDecoder(codings: Self.list(codings)) != nil) == isDecoded)
    #expect(ContentDecoder.decodes(Self.list(codings)) == isDecoded)
  }
}

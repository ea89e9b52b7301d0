import Foundation
import JSON
import TestSupport
import Testing

/// Bodies with a content coding are decoded: brotliDataTask, gzippedDataTask, gzippedDownloadTask.
@Suite(.serialized, .blocking, .sharing) struct ContentEncodingTests {
  private let place: InProcessAPI
  /// The decoded text of each constant, which is too large to stay in memory.
  private static let text = Array(String(repeating: "Ferry carries bytes. ", count: 2000).utf8)

  init() throws { place = try .ofSuite() }

  struct Coding: Sendable, CustomTestStringConvertible {
    /// The value of `Content-Encoding`.
    let name: String
    let base64: String
    var bytes: [UInt8] { Array(Data(base64Encoded: base64) ?? Data()) }
    var testDescription: String { name }
  }
  private static let gzip = Coding(
    name: "gzip",
    base64:
      "H4sIAAAAAAACA+3IsQ3AIAwAsFdyQc/gj4IydE1Y+L53INmjR1adWG/Vlx3z7OwnhpRSSimllFJKKaWUUkoppZRSSimllFJKKaWUUkoppZRSSimllFJKKaWUUkoppZRSSimllFJKKaWUUkoppZRSSimllFJKKaWUUkoppZRSSimllFJKKaWUUkoppZRSSimllFJKKaWUd+YP4EzYyhCkAAA="
  )
  private static let codings = [
    gzip, Coding(name: "x-gzip", base64: gzip.base64), Coding(name: "GZIP", base64: gzip.base64),
    Coding(
      name: "deflate",
      base64:
        "eNrtyLENwCAMALBXckHP4I+CMnRNWPi+dyDZo0dWnVhv1Zcd8+zsJ4aUUkoppZRSSimllFJKKaWUUkoppZRSSimllFJKKaWUUkoppZRSSimllFJKKaWUUkoppZRSSimllFJKKaWUUkoppZRSSimllFJKKaWUUkoppZRSSimllFJKKaWUUkoppZRSSimllHfmD472xFY="
    ),
    // S3 returns this coding for an object that was uploaded in signed chunks.
    Coding(name: "gzip,aws-chunked", base64: gzip.base64),
    // Many servers send raw deflate without the zlib frame.
    Coding(
      name: "deflate",
      base64:
        "7cixDcAgDACwV3JBz+CPgjJ0TVj4vncg2aNHVp1Yb9WXHfPs7CeGlFJKKaWUUkoppZRSSimllFJKKaWUUkoppZRSSimllFJKKaWUUkoppZRSSimllFJKKaWUUkoppZRSSimllFJKKaWUUkoppZRSSimllFJKKaWUUkoppZRSSimllFJKKaWUUkoppZR35g8="
    ),
    Coding(name: "br", base64: "Gw+k+I2Uq+3QFmzAoS04WSC/XCBi1cptRYI+TPKL124C/KgA"),
    Coding(
      name: "deflate, gzip",
      base64:
        "H4sIAAAAAAAAA6u49fbERt4DCjwMG8KLHM8/6G8yKvGN+LGvXOHmYvewuRH5V6fLfn7zRr1tSpCX5lJaE+XP+Pu+HQkDAKeUv0GVAAAA"
    ),
  ]

  private func origin(_ coding: String, _ bytes: [UInt8], isChunked: Bool = false) -> TestOrigin {
    TestOrigin { request, socket in
      guard isChunked else {
        try socket.write(TestOrigin.reply("200 OK", bytes, [("Content-Encoding", coding)]))
        return true
      }
      try socket.write("HTTP/1.1 200 OK\r\nContent-Encoding: \(coding)\r\nTransfer-Encoding: chunked\r\n\r\n")
      for start in stride(from: 0, to: bytes.count, by: 7) {
        let piece = bytes[start..<min(start + 7, bytes.count)]
        try socket.write(Array("\(piece.count)\r\n".utf8) + piece + Array("\r\n".utf8))
      }
      try socket.write("0\r\n\r\n")
      return true
    }
  }

  private func leftovers() throws -> [String] {
    try FileManager.default.subpathsOfDirectory(atPath: place.directory)
      .filter { $0.hasPrefix("bodies/") || $0.hasSuffix(".body") || $0.hasSuffix(".meta") }
  }

  @Test(arguments: codings, [false, true])
  func `coded body is decoded and counted decoded`(_ coding: Coding, _ isChunked: Bool) throws {
    let origin = origin(coding.name, coding.bytes, isChunked: isChunked)
    for kind in ["data", "download"] {
      let id = try place.create(origin.url, kind: kind)
      let task = try place.end(of: id)
      #expect(task["error"] == .null && task["body"]?["size"]?.integer == 42_000)
      #expect(task["response"]?["expectedContentLength"]?.integer == -1)
      #expect(task["response"]?["headers"]?["Content-Encoding"]?.string == coding.name)
      #expect(task["progress"]?["countOfBytesReceived"]?.integer == 42_000)
      #expect(task["progress"]?["countOfBytesExpectedToReceive"]?.integer == -1)
      #expect(task["progress"]?["fractionCompleted"] == .null)
      #expect(try place.call("GET", "/v1/tasks/\(id)/body").body == Self.text)
      let transaction = try place.metrics(of: id)["transactionMetrics"]?.elements?.first
      #expect(transaction?["countOfResponseBodyBytesReceived"]?.integer == Int64(coding.bytes.count))
      #expect(transaction?["countOfResponseBodyBytesAfterDecoding"]?.integer == 42_000)
    }
    let offered = try #require(origin.requests.first?["Accept-Encoding"])
    #expect(["gzip", "deflate", "br"].allSatisfy(offered.contains))  // dataTaskWithAcceptEncoding
  }

  /// A part of a coded body cannot be decoded, so Ferry requests ranges without a coding.
  @Test func `range is requested without a content coding`() throws {
    let origin = origin("identity", Array("part".utf8))
    let task = try place.run(origin.url, request: #","headers":{"Range":"bytes=0-3"}"#)
    #expect(origin.requests.first?["Accept-Encoding"] == nil)
    #expect(task["response"]?["expectedContentLength"]?.integer == 4 && task["error"] == .null)
  }

  /// A body that fails during its decoding leaves no file.
  @Test(arguments: [("no gzip at all", 0, 10), ("garbage within", 60, 80), ("wrong checksum", -8, -4)])
  func `body that cannot be decoded is an error`(_: String, _ from: Int, _ to: Int) throws {
    var bytes = Self.gzip.bytes
    let count = bytes.count
    for index in (from + (from < 0 ? count : 0))..<(to + (to < 0 ? count : 0)) { bytes[index] ^= 0xA5 }
    let origin = origin("gzip", bytes)
    let before = try leftovers()
    for kind in ["data", "download"] {
      let task = try place.run(origin.url, kind: kind)
      #expect(task.errorCode == -1015 && task["error"]?["name"]?.string == "cannotDecodeRawData")
      #expect(task["error"]?["underlying"]?["code"]?.integer == 61)  // CURLE_BAD_CONTENT_ENCODING
      #expect(task["body"] == .null && task["response"]?["status"]?.integer == 200)
      #expect(try place.call("GET", "/v1/tasks/\(task.id)/body").status == 404)
    }
    #expect(try leftovers() == before)
    withExtendedLifetime(origin) {}
  }

  /// The connection or the chunks end properly, but the coded data are incomplete.
  @Test(arguments: codings, [false, true]) func `incomplete coded body is an error`(
    _ coding: Coding, _ isChunked: Bool
  ) throws {
    let origin = origin(coding.name, Array(coding.bytes.dropLast(9)), isChunked: isChunked)
    for kind in ["data", "download"] {
      let task = try place.run(origin.url, kind: kind)
      #expect(task.errorCode == -1015 && task["body"] == .null)
      #expect(task["error"]?["underlying"]?["code"]?.integer == 61)
    }
    withExtendedLifetime(origin) {}
  }

  /// Some servers pad compressed data, or append a line end.
  @Test(arguments: [[0], [0x0D, 0x0A], [UInt8](repeating: 0, count: 512)])
  func `bytes after the coded data are ignored`(_ trailing: [UInt8]) throws {
    let origin = origin("gzip", Self.gzip.bytes + trailing)
    for kind in ["data", "download"] {
      let task = try place.run(origin.url, kind: kind)
      #expect(task["error"] == .null)
      #expect(try place.body(of: task.id) == Self.text)
    }
    withExtendedLifetime(origin) {}
  }

  /// URLSession and browsers do the same.
  @Test(arguments: ["rot13", "gzip, rot13"], ["data", "download"])
  func `body in an unknown coding is delivered as received`(_ coding: String, _ kind: String) throws {
    let origin = origin(coding, Array("uryyb".utf8))
    let task = try place.run(origin.url, kind: kind)
    #expect(task["error"] == .null && task["response"]?["expectedContentLength"]?.integer == 5)
    #expect(try place.call("GET", "/v1/tasks/\(task.id)/body").text == "uryyb")
    withExtendedLifetime(origin) {}
  }

  @Test func `body without a real coding is delivered as received`() throws {
    let origin = origin("aws-chunked", Array("plain".utf8))
    let task = try place.run(origin.url)
    #expect(task["error"] == .null && task["response"]?["expectedContentLength"]?.integer == 5)
    #expect(try place.body(of: task.id) == Array("plain".utf8))
    withExtendedLifetime(origin) {}
  }

  /// The task is suspended in the middle of the coded body.
  @Test func `coded body continues after suspension`() throws {
    let bytes = try Pattern.gzippedZeros(mebibytes: 64)
    let half = Gate()
    let origin = TestOrigin { _, socket in
      try socket.write(
        "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: \(bytes.count)\r\n\r\n")
      try socket.write(Array(bytes[..<(bytes.count / 2)]))
      half.wait()
      try socket.write(Array(bytes[(bytes.count / 2)...]))
      return true
    }
    let id = try place.create(origin.url, kind: "download")
    for _ in 0..<5 {
      _ = try place.act("suspend", id)
      _ = try place.act("resume", id)
    }
    _ = try place.act("suspend", id)
    half.open()
    _ = try place.act("resume", id)
    let task = try place.end(of: id)
    #expect(task["error"] == .null && task["body"]?["size"]?.integer == 64 << 20)
    withExtendedLifetime(origin) {}
  }

  @Test func `response without a body is not decoded`() throws {
    let origin = TestOrigin { request, socket in
      let status =
        request.path == "/304" ? "304 Not Modified" : request.path == "/204" ? "204 None" : "200 OK"
      try socket.write("HTTP/1.1 \(status)\r\nContent-Encoding: gzip\r\nContent-Length: 350\r\n\r\n")
      return true
    }
    for (path, method) in [("/304", "GET"), ("/204", "GET"), ("/", "HEAD")] {
      let task = try place.run(origin.url + path, request: #","method":"\#(method)""#)
      #expect(task["error"] == .null && task["body"]?["size"]?.integer == 0)
      #expect(task["response"]?["headers"]?["Content-Encoding"]?.string == "gzip")
    }
    withExtendedLifetime(origin) {}
  }
}

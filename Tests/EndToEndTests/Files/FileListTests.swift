import Foundation
import JSON
import TestSupport
import Testing

/// Uploads of files that are interrupted or repeated.
@Suite(.serialized, .blocking) struct FileListTests {
  private let ferry: FerryProcess

  init() throws { ferry = try FerryProcess() }

  private func post(_ bytes: [UInt8], _ fields: [(String, String)] = []) throws -> HTTPReply {
    try HTTPClient(port: ferry.port).send("POST", "/v1/files", bytes, fields)
  }

  private func namesOnDisk() throws -> Set<String> {
    Set(try FileManager.default.subpathsOfDirectory(atPath: ferry.directory).filter { $0.contains("fil_") })
  }

  private func sizesOnDisk() throws -> [Int] {
    try namesOnDisk().map { name in
      let path = ferry.directory + "/" + name
      return try FileManager.default.attributesOfItem(atPath: path)[.size] as? Int ?? -1
    }
  }

  /// A client that disconnects in the middle leaves no file.
  @Test func `interrupted upload leaves no file`() throws {
    let client = try HTTPClient(port: ferry.port)
    try withExtendedLifetime(client) {
      try client.socket.write("POST /v1/files HTTP/1.1\r\nHost: localhost\r\nContent-Length: 900000\r\n\r\n")
      try client.socket.write(Pattern.bytes(300_000))
      #expect(try Patience.wait { try sizesOnDisk() != [300_000] })
      client.socket.shutdownWrites()
      #expect(try Patience.wait { try !namesOnDisk().isEmpty })
    }
    #expect(try ferry.call("GET", "/v1/files").json["items"]?.elements?.isEmpty == true)
  }

  @Test func `repeated upload gets the first reply`() throws {
    let key = [("Idempotency-Key", "\"one\""), ("Content-Type", "text/plain")]
    let first = try post([1, 2, 3], key)
    let again = try post([1, 2, 3], key)
    #expect(first.status == 201 && again.status == 201 && again.json == first.json)
    #expect(again["Location"] == first["Location"])
    #expect(try post([1, 2, 4], key).status == 422)
    // The repeat leaves no second file.
    #expect(try namesOnDisk().count == 1)
    #expect(try ferry.call("GET", "/v1/files").json["items"]?.elements?.count == 1)
  }
}

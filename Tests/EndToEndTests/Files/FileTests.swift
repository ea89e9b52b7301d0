import Crypto
import Foundation
import JSON
import TestSupport
import Testing

/// Stored files: upload, read, and survival of restarts.
@Suite(.serialized, .blocking, .sharing) struct FileTests {
  private let ferry: FerryProcess
  private let origin = TestOrigin { request, socket in
    if request.path == "/silent" { return try socket.readSome() != nil }
    let size = Int(request.path.dropFirst()) ?? 0
    try socket.write(TestOrigin.reply("200 OK", Pattern.bytes(size), [("Content-Type", "image/png")]))
    return true
  }
  private static let sizes = [0, 1, 40 * 1024, 3_000_000]

  init() throws { ferry = try .ofSuite() }

  private func post(_ bytes: [UInt8], _ fields: [(String, String)] = []) throws -> HTTPReply {
    try HTTPClient(port: ferry.port).send("POST", "/v1/files", bytes, fields)
  }

  private static func hexadecimal(_ bytes: [UInt8]) -> String {
    SHA256.hash(data: bytes).map { String(format: "%02x", $0) }.joined()
  }

  @Test(arguments: sizes, ["image/png", nil]) func storedFileIsUnchanged(_ size: Int, _ type: String?) throws
  {
    let bytes = Pattern.bytes(size)
    let reply = try post(bytes, type.map { [("Content-Type", $0)] } ?? [])
    let file = reply.json
    #expect(reply.status == 201 && reply["Location"] == "/v1/files/\(file.id)" && reply["ETag"] != nil)
    #expect(file["size"]?.integer == Int64(size) && file["sha256"]?.string == Self.hexadecimal(bytes))
    #expect(file["contentType"]?.string == type && file["fromTask"] == .null)
    for method in ["GET", "HEAD"] {
      let read = try ferry.call(method, "/v1/files/\(file.id)")
      #expect(read.status == 200 && read["Content-Length"] == "\(size)", "\(method)")
      #expect(read.body == (method == "GET" ? bytes : []), "\(method)")
      #expect(read["Content-Type"] == type ?? "application/octet-stream", "\(method)")
      #expect(read["ETag"] == "\"\(Self.hexadecimal(bytes))\"" && read["Accept-Ranges"] == "bytes")
      let digest = Data(SHA256.hash(data: bytes)).base64EncodedString()
      #expect(read["Repr-Digest"] == "sha-256=:\(digest):", "\(method)")
      // These fields keep a browser from running the file under the service's origin.
      #expect(read["X-Content-Type-Options"] == "nosniff" && read["Content-Disposition"] == "attachment")
    }
    let description = try ferry.call("GET", "/v1/files/\(file.id)", nil, [("Accept", "application/json")])
    #expect(description["Content-Type"] == "application/json" && description.json == file)
  }

  @Test func `body of unknown length is stored`() throws {
    let client = try HTTPClient(port: ferry.port)
    try client.socket.write(
      "POST /v1/files HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n"
    )
    let file = try client.readReply()
    #expect(file.status == 201 && file.json["size"]?.integer == 5)
    #expect(try ferry.call("GET", "/v1/files/\(file.json.id)").text == "abcde")
  }

  @Test func `files survive the service`() throws {
    let directory = TemporaryDirectory.make("files")
    defer { try? FileManager.default.removeItem(atPath: directory) }
    var files: [(file: JSONValue, bytes: [UInt8])] = []
    do {
      let first = try FerryProcess(directory: directory)
      for size in Self.sizes {
        let bytes = Pattern.bytes(size)
        files.append((try first.call("GET", "/v1/files/\(first.store(bytes))", nil, Self.asJSON).json, bytes))
        let task = try first.run(origin.url + "/\(size)")
        let kept = try first.call("POST", "/v1/files", #"{"fromTask":"\#(task.id)"}"#)
        files.append((kept.json, bytes))
      }
      first.kill()
    }
    let second = try FerryProcess(directory: directory)
    for (file, bytes) in files {
      #expect(try second.call("GET", "/v1/files/\(file.id)", nil, Self.asJSON).json == file)
      #expect(try second.call("GET", "/v1/files/\(file.id)").body == bytes)
    }
    #expect(try second.call("GET", "/v1/files").json["items"]?.elements?.map(\.id) == files.map(\.file.id))
  }
  private static let asJSON = [("Accept", "application/json")]
}

import Foundation

/// A client that sends the body of a task's request, `PUT /v1/tasks/{id}/body`, in parts.
package final class BodyWriter {
  package let client: HTTPClient
  private let isChunked: Bool

  /// - Parameter length: The length of the body, or `nil` to send chunks.
  package init(_ ferry: FerryProcess, _ task: String, length: Int?) throws {
    client = try ferry.client()
    isChunked = length == nil
    let framing = length.map { "Content-Length: \($0)" } ?? "Transfer-Encoding: chunked"
    try client.socket.write("PUT /v1/tasks/\(task)/body HTTP/1.1\r\nHost: 127.0.0.1\r\n\(framing)\r\n\r\n")
  }

  package func write(_ bytes: [UInt8]) throws {
    guard isChunked else { return try client.socket.write(bytes) }
    guard !bytes.isEmpty else { return }
    let size = Array("\(String(bytes.count, radix: 16))\r\n".utf8)
    try client.socket.write(size + bytes + Array("\r\n".utf8))
  }

  /// Ends the body and returns the reply.
  package func finish() throws -> HTTPReply {
    if isChunked { try client.socket.write("0\r\n\r\n") }
    return try client.readReply()
  }
}

extension FerryProcess {
  /// Sends the whole body of a request and returns the reply.
  package func put(_ bytes: [UInt8], to task: String, isChunked: Bool = false) throws -> HTTPReply {
    let writer = try BodyWriter(self, task, length: isChunked ? nil : bytes.count)
    try writer.write(bytes)
    return try writer.finish()
  }

  /// Stores a file and returns its id.
  package func store(_ bytes: [UInt8]) throws -> String {
    let type = [("Content-Type", "application/octet-stream")]
    return try client().send("POST", "/v1/files", bytes, type).json.id
  }
}

/// Contents of large bodies that show every lost, repeated or moved byte.
package enum Pattern {
  private static let period = 65_521  // a prime
  private static let block: [UInt8] = {
    var generator = SplitMix64(seed: 1)
    return (0..<period).map { _ in UInt8(truncatingIfNeeded: generator.next()) }
  }()

  /// Returns the bytes from `offset`.
  package static func bytes(_ count: Int, from offset: Int = 0) -> [UInt8] {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(count)
    while bytes.count < count {
      let start = (offset + bytes.count) % period
      bytes += block[start..<min(period, start + count - bytes.count)]
    }
    return bytes
  }

  /// Returns zeros, compressed to a thousandth of their size.
  package static func gzippedZeros(mebibytes: Int) throws -> [UInt8] {
    try ChildProcess.run("/bin/sh", ["-c", "head -c \(mebibytes << 20) /dev/zero | gzip -9"]).bytes
  }
}

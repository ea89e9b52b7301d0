import Foundation
import HTTPServer
import HTTPTypes
import Synchronization
import TestSupport
import Testing

/// A reply to HEAD and a 304 have no body (RFC 9112 §6.3).
@Suite(.serialized, .blocking) struct BodilessReplyTests {
  /// A source that counts its calls.
  private final class Watched: ResponseSource {
    struct Seen: Equatable {
      var attached = 0
      var read = 0
      var closed = 0
    }
    private let seen = Mutex(Seen())
    var isEndless: Bool { true }
    func attach(_ waker: ResponseWaker) { seen.withLock { $0.attached += 1 } }
    func read(maximum: Int) -> ResponseChunk {
      seen.withLock { $0.read += 1 }
      return .wait
    }
    func close() { seen.withLock { $0.closed += 1 } }
    var all: Seen { seen.withLock { $0 } }
  }

  /// Returns the reply to that request and a following one, and the calls of the source.
  private func exchange(
    _ method: String, status: HTTPResponse.Status = .ok, length: Int64?
  ) async throws -> (text: String, seen: Watched.Seen) {
    let source = Watched()
    var text = ""
    try await ServerHarness.withServer { request in
      guard request.path == "/body" else { return ServerResponse(status: .noContent) }
      return ServerResponse(
        status: status, fields: [.contentType: "text/event-stream"], body: .source(source, length: length))
    } _: { port in
      let socket = try Socket(connectingTo: port)
      try socket.write("\(method) /body HTTP/1.1\r\nHost: a\r\n\r\n")
      try socket.write("GET /next HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
      text = try ServerHarness.everything(socket)
    }
    return (text, source.all)
  }

  @Test func `reply of unknown length ends after the head`() async throws {
    let (text, seen) = try await exchange("HEAD", length: nil)
    #expect(text.hasPrefix("HTTP/1.1 200 ") && text.hasSuffix("\r\n\r\n"))
    #expect(text.components(separatedBy: "\r\n\r\n").count == 2, "the connection ends after the head")
    #expect(text.lowercased().contains("content-type: text/event-stream\r\n"))
    #expect(!text.contains("Content-Length") && !text.contains("Transfer-Encoding"))
    #expect(text.lowercased().contains("connection: close\r\n"))
    #expect(seen == .init(closed: 1))
  }

  @Test(arguments: [("HEAD", .ok), ("GET", .notModified)] as [(String, HTTPResponse.Status)])
  func `known length keeps the connection`(_ method: String, _ status: HTTPResponse.Status) async throws {
    let (text, seen) = try await exchange(method, status: status, length: 70_000)
    let heads = text.components(separatedBy: "\r\n\r\n")
    try #require(heads.count == 3, "\(text)")
    #expect(heads[0].hasPrefix("HTTP/1.1 \(status.code) ") && heads[0].contains("Content-Length: 70000"))
    #expect(heads[1].hasPrefix("HTTP/1.1 204 ") && heads[2].isEmpty)
    #expect(seen == .init(closed: 1))
  }
}

import Foundation
import HTTPTypes
import JSON
import TestSupport
import Testing
import TransferModel

@testable import HTTPServer
@testable import TransferAPI

/// The default tenant's client, which sends each body in one piece. A body that a route reads in chunks, such as that
/// of a stored file, cannot be sent.
extension InProcessAPI: FerryAPI {
  func send(
    _ method: String, _ target: String, _ body: [UInt8]?, _ fields: [(String, String)]
  ) throws -> HTTPReply {
    let response = try response(to: method, target, body ?? [], fields)
    var reply = Self.head(response)
    // A server sends no body for these.
    let isBare = method == "HEAD" || [204, 304].contains(reply.status)
    switch response.body {
    case .empty: break
    case .bytes(let bytes): if !isBare { reply.body = bytes }
    case .source(let source, _):
      let reader = SourceReader(source)
      while !isBare, let bytes = try reader.next() { reply.body += bytes }
    }
    return reply
  }

  func events(_ target: String, _ fields: [(String, String)]) throws -> EventReader {
    let response = try response(to: "GET", target, [], fields)
    guard case .source(let source, _) = response.body else {
      return EventReader(head: Self.head(response)) { nil }
    }
    let reader = SourceReader(source)
    return EventReader(head: Self.head(response)) { try reader.next() }
  }

  /// Stores a file that has these bytes: a task downloads them first.
  func store(_ bytes: [UInt8]) throws -> String {
    let origin = TestOrigin { _, socket in
      try socket.write(TestOrigin.reply("200 OK", bytes))
      return true
    }
    let task = try run(origin.url, session: session(Self.uncached))
    let file = try call("POST", "/v1/files", #"{"fromTask":"\#(task.id)"}"#)
    return try #require(file.json["id"]?.string, "\(file.text)")
  }

  /// Returns the suite's shared service, which is replaced after 100 uses.
  static func ofSuite(networks: [String] = ["127.0.0.0/8"]) throws -> InProcessAPI {
    try Shared.one(networks.joined(separator: " "), uses: 100) { try InProcessAPI(networks: networks) }
  }

  private func response(
    to method: String, _ target: String, _ body: [UInt8], _ fields: [(String, String)]
  ) throws -> ServerResponse {
    var head = HTTPFields()
    head[.authorization] = "Bearer token-\(Tenant.default.name)"
    for (name, value) in fields {
      head.append(HTTPField(name: try #require(HTTPField.Name(name)), value: value))
    }
    let all = head
    return try blocking { await self.respond(to: method, target, body, all) }
  }

  /// Returns the head with the `Content-Length` that a server would add.
  private static func head(_ response: ServerResponse) -> HTTPReply {
    var fields = response.head.headerFields.map { (name: $0.name.canonicalName, value: $0.value) }
    let length: Int64? =
      switch response.body {
      case .empty: nil
      case .bytes(let bytes): Int64(bytes.count)
      case .source(_, let length): length
      }
    if let length { fields.append((name: "content-length", value: "\(length)")) }
    return HTTPReply(status: response.head.status.code, fields: fields, body: [])
  }
}

/// Reads a response's body as a server does.
private final class SourceReader {
  private enum Fault: Error { case isCut, isSilent }
  private let source: any ResponseSource

  init(_ source: any ResponseSource) {
    self.source = source
    source.attach(ResponseWaker {})
  }

  deinit { source.close() }

  /// Returns the next bytes, or `nil` at the end. The deadline is generous, because many tests start at the same
  /// time.
  func next() throws -> [UInt8]? {
    let end = ContinuousClock.now + .seconds(300)
    while true {
      switch source.read(maximum: 65_536) {
      case .bytes(let bytes): return bytes
      case .end: return nil
      case .failed: throw Fault.isCut
      case .wait:
        guard ContinuousClock.now < end else { throw Fault.isSilent }
        usleep(1000)
      }
    }
  }
}

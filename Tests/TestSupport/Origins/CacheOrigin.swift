package import JSON
import Synchronization

/// An origin whose responses tests set for each path, and that logs its requests.
package final class CacheOrigin: Sendable {
  private final class Answers: Sendable { let byPath = Mutex<[String: TestOrigin.Handler]>([:]) }
  private let answers = Answers()
  private let origin: TestOrigin

  package init() {
    origin = TestOrigin { [answers] request, socket in
      guard let answer = answers.byPath.withLock({ $0[request.path] }) else {
        try socket.write(TestOrigin.reply("404 Not Found"))
        return true
      }
      return try answer(request, socket)
    }
  }

  package var url: String { origin.url }
  package var port: Int { origin.port }
  package func requests(_ path: String) -> [TestOrigin.Request] { origin.requests.filter { $0.path == path } }
  package func count(_ path: String) -> Int { requests(path).count }

  package func on(_ path: String, _ answer: @escaping TestOrigin.Handler) {
    answers.byPath.withLock { $0[path] = answer }
  }

  /// Sets the response for a path. HEAD gets it without the body.
  package func serve(_ path: String, _ body: [UInt8], status: String = "200 OK", _ fields: [(String, String)])
  {
    on(path) { request, socket in
      let reply = TestOrigin.reply(status, body, fields)
      try socket.write(request.method == "HEAD" ? Array(reply.dropLast(body.count)) : reply)
      return true
    }
  }

  package func serve(_ path: String, _ text: String, status: String = "200 OK", _ fields: [(String, String)])
  {
    serve(path, Array(text.utf8), status: status, fields)
  }

  /// Sets the response for a path. A request with a matching `If-None-Match` gets a 304 with the `confirming` fields.
  package func serve(
    _ path: String, _ text: String, tag: String, _ fields: [(String, String)],
    confirming: [(String, String)] = []
  ) {
    on(path) { request, socket in
      let isKnown = request["If-None-Match"] == tag
      try socket.write(
        isKnown
          ? Self.confirmation([("ETag", tag)] + confirming)
          : TestOrigin.reply("200 OK", Array(text.utf8), [("ETag", tag)] + fields))
      return true
    }
  }

  package static func confirmation(_ fields: [(String, String)]) -> [UInt8] {
    Array(("HTTP/1.1 304 Not Modified\r\n" + fields.map { "\($0): \($1)\r\n" }.joined() + "\r\n").utf8)
  }

  package static let fresh = [("Cache-Control", "max-age=86400")]
  /// A response that is an hour older than its lifetime.
  package static let stale = [("Cache-Control", "max-age=10"), ("Age", "3610")]
}

/// Calls for a session and its cache.
package struct CacheClient {
  package let ferry: any FerryAPI
  package let origin: CacheOrigin
  package let session: String

  package init(_ ferry: any FerryAPI, _ origin: CacheOrigin, session: String? = nil) throws {
    self.ferry = ferry
    self.origin = origin
    self.session = try session ?? ferry.session()
  }

  /// Runs a task and returns it with its body.
  package func load(_ path: String, kind: String = "data", _ request: String = "") throws -> JSONValue {
    try ferry.run(
      origin.url + path, kind: kind, session: session, request: request, query: "?include=body")
  }

  package func load(_ path: String, fields: [String: String]) throws -> JSONValue {
    let members = fields.map { #""\#($0)":"\#($1)""# }.joined(separator: ",")
    return try load(path, #","headers":{\#(members)}"#)
  }

  package var cache: JSONValue {
    get throws { try ferry.call("GET", "/v1/sessions/\(session)/cache").json }
  }

  /// The paths of the stored responses, the last used first.
  package var paths: [String] {
    get throws {
      try cache["entries"]?.elements?.compactMap {
        $0["url"]?.string?.dropFirst(origin.url.count).description
      }
        ?? []
    }
  }

  /// The directory of the session's cache files.
  package var directory: String { ferry.directory + "/cache/" + session }
}

extension JSONValue {
  package var bodyText: String? { self["body"]?["text"]?.string }
  package var sha256: String? { self["body"]?["sha256"]?.string }
  package var isFromCache: Bool { self["response"]?["fromCache"]?.bool == true }

  /// Returns a header field of the response.
  package func field(_ name: String) -> String? {
    self["response"]?["headers"]?.members?.first { $0.name.lowercased() == name.lowercased() }?.value.string
  }
}

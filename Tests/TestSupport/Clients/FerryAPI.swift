import Foundation
package import JSON

/// The HTTP API for tests, either over a connection to the real binary or in this process without a socket.
package protocol FerryAPI: AnyObject {
  /// The data directory.
  var directory: String { get }
  /// Sends a request and returns the reply.
  func send(
    _ method: String, _ target: String, _ body: [UInt8]?, _ fields: [(String, String)]
  ) throws -> HTTPReply
  /// Opens a stream of events.
  func events(_ target: String, _ fields: [(String, String)]) throws -> EventReader
  /// Stores a file and returns its id.
  func store(_ bytes: [UInt8]) throws -> String
}

extension FerryAPI {
  /// Sends a request. A body is JSON unless the fields contain another `Content-Type`.
  package func call(
    _ method: String, _ target: String, _ body: String? = nil, _ fields: [(String, String)] = []
  ) throws -> HTTPReply {
    var fields = fields
    if body != nil, !fields.contains(where: { $0.0 == "Content-Type" }) {
      fields.append(("Content-Type", "application/json"))
    }
    return try send(method, target, body.map { Array($0.utf8) }, fields)
  }

  package func events(_ target: String) throws -> EventReader { try events(target, []) }

  /// The configuration of a session without a cache.
  package static var uncached: String { #"{"urlCache":null}"# }

  /// Creates a session and returns its id.
  package func session(_ configuration: String = "{}", delegate: String = "null") throws -> String {
    let body = #"{"configuration":\#(configuration),"delegate":\#(delegate)}"#
    return try call("POST", "/v1/sessions", body).json["id"]?.string ?? ""
  }

  /// Creates a background session and returns the reply. `members` is a comma followed by further members.
  package func background(
    _ identifier: String, _ members: String = #","delegate":{}"#, _ fields: [(String, String)] = []
  ) throws -> HTTPReply {
    try call(
      "POST", "/v1/sessions", #"{"type":"background","identifier":"\#(identifier)"\#(members)}"#, fields)
  }

  /// Runs a task with `Prefer: wait` and returns the ended task.
  package func run(
    _ url: String, kind: String = "download", session: String = "ses_shared", request: String = "",
    query: String = ""
  ) throws -> JSONValue {
    let body = #"{"kind":"\#(kind)","resume":true,"request":{"url":"\#(url)"\#(request)}}"#
    return try call("POST", "/v1/sessions/\(session)/tasks\(query)", body, [("Prefer", Patience.preference)])
      .json
  }

  /// Repeats a GET until `isDone` returns true.
  package func poll(_ target: String, until isDone: (JSONValue) -> Bool) throws -> JSONValue {
    var value = JSONValue.null
    try Patience.wait {
      value = try call("GET", target).json
      return !isDone(value)
    }
    return value
  }

  /// Returns the cookies of the session's jar as `name=value`, the oldest first.
  package func cookies(of session: String, _ query: String = "") throws -> [String] {
    let items = try call("GET", "/v1/sessions/\(session)/cookies\(query)").json["items"]?.elements ?? []
    return items.map { "\($0["name"]?.string ?? "?")=\($0["value"]?.string ?? "?")" }
  }
}

extension HTTPReply {
  /// The JSON pointers of the wrong members.
  package var pointers: [String] {
    (json["errors"]?.elements ?? []).compactMap { $0["pointer"]?.string }
  }
}

import Foundation
package import JSON

/// The HTTP API as tests ask it: over a connection to the real binary, or without either.
package protocol FerryAPI: AnyObject {
  /// Where its data are.
  var directory: String { get }
  /// One request, and what came back.
  func send(
    _ method: String, _ target: String, _ body: [UInt8]?, _ fields: [(String, String)]
  ) throws -> HTTPReply
  /// A stream of events that is read from now on.
  func events(_ target: String, _ fields: [(String, String)]) throws -> EventReader
  /// Stores a file and returns its id.
  func store(_ bytes: [UInt8]) throws -> String
}

extension FerryAPI {
  /// One request; with a body it is JSON, unless the fields say otherwise.
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

  /// A configuration with which every request goes to its origin.
  package static var uncached: String { #"{"urlCache":null}"# }

  /// A new session's id.
  package func session(_ configuration: String = "{}", delegate: String = "null") throws -> String {
    let body = #"{"configuration":\#(configuration),"delegate":\#(delegate)}"#
    return try call("POST", "/v1/sessions", body).json["id"]?.string ?? ""
  }

  /// The reply to the creation of a background session; `members` follow a comma.
  package func background(
    _ identifier: String, _ members: String = #","delegate":{}"#, _ fields: [(String, String)] = []
  ) throws -> HTTPReply {
    try call(
      "POST", "/v1/sessions", #"{"type":"background","identifier":"\#(identifier)"\#(members)}"#, fields)
  }

  /// Creates a task, runs it, and returns it when it has ended.
  package func run(
    _ url: String, kind: String = "download", session: String = "ses_shared", request: String = "",
    query: String = ""
  ) throws -> JSONValue {
    let body = #"{"kind":"\#(kind)","resume":true,"request":{"url":"\#(url)"\#(request)}}"#
    return try call("POST", "/v1/sessions/\(session)/tasks\(query)", body, [("Prefer", "wait=25")]).json
  }

  /// Asks again until `isDone` says so, at most a minute.
  package func poll(_ target: String, until isDone: (JSONValue) -> Bool) throws -> JSONValue {
    let end = Date().addingTimeInterval(60)
    while true {
      let value = try call("GET", target).json
      if isDone(value) || Date() > end { return value }
      usleep(20_000)
    }
  }

  /// What the session's jar has: `name=value`, the oldest first.
  package func cookies(of session: String, _ query: String = "") throws -> [String] {
    let items = try call("GET", "/v1/sessions/\(session)/cookies\(query)").json["items"]?.elements ?? []
    return items.map { "\($0["name"]?.string ?? "?")=\($0["value"]?.string ?? "?")" }
  }
}

extension HTTPReply {
  /// Where the wrong members are, by their JSON pointers.
  package var pointers: [String] {
    (json["errors"]?.elements ?? []).compactMap { $0["pointer"]?.string }
  }
}

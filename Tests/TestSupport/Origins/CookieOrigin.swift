import JSON
import Testing

/// An origin that sets cookies and logs the cookies that it receives.
///
/// A request's `X-Set` lists cookies, separated by `|`. The origin sets these cookies at paths below `/set`, at
/// `/moved`, which redirects to `X-To`, and at `/login`, which sends a challenge. The origin is also an HTTP proxy
/// for all hosts.
package final class CookieOrigin {
  package let ferry: any FerryAPI
  private let origin = TestOrigin { request, socket in
    let cookies = (request["X-Set"] ?? "").split(separator: "|").map { ("Set-Cookie", String($0)) }
    switch CookieOrigin.path(of: request) {
    case "/moved":
      let fields = cookies + [("Location", request["X-To"] ?? "/")]
      try socket.write(TestOrigin.reply("302 Found", [], fields))
    case "/login" where request["Authorization"] == nil:
      let fields = cookies + [("WWW-Authenticate", "Basic realm=\"r\"")]
      try socket.write(TestOrigin.reply("401 Unauthorized", [], fields))
    case let path where path.hasPrefix("/set"): try socket.write(TestOrigin.reply("200 OK", [], cookies))
    default: try socket.write(TestOrigin.reply("200 OK"))
    }
    return true
  }

  package init(_ ferry: any FerryAPI) { self.ferry = ferry }

  package func url(_ path: String, host: String = "127.0.0.1") -> String {
    "http://\(host):\(origin.port)\(path)"
  }
  /// The configuration of a session that uses this origin as its proxy.
  package var proxied: String { #"{"proxies":{"http":"\#(origin.url)"}}"# }

  /// Has the origin set cookies, given with their attributes.
  package func set(
    _ cookies: String..., on path: String = "/set", host: String = "127.0.0.1", in session: String,
    request: String = "", headers: [String] = []
  ) throws {
    let fields = headers + [#""X-Set":\#(JSONValue.string(cookies.joined(separator: "|")).text)"#]
    let members = #","headers":{\#(fields.joined(separator: ","))}"# + request
    let task = try ferry.run(url(path, host: host), kind: "data", session: session, request: members)
    try #require(task["error"] == .null, "\(task.text)")
  }

  /// Returns the `Cookie` field of a new request, or `nil` if the request has none.
  package func sent(
    to path: String = "/", host: String = "127.0.0.1", in session: String, request: String = ""
  ) throws -> String? {
    let before = origin.requests.count
    let task = try ferry.run(url(path, host: host), kind: "data", session: session, request: request)
    try #require(task["error"] == .null, "\(task.text)")
    return fields(from: before).last ?? "no request"
  }

  /// The `Cookie` fields of all requests.
  package var fields: [String?] { fields(from: 0) }

  private func fields(from index: Int) -> [String?] {
    origin.requests[index...].map { request in
      let values = request.fields.filter { $0.name.lowercased() == "cookie" }.map(\.value)
      return values.isEmpty ? nil : values.joined(separator: " AND ")
    }
  }

  private static func path(of request: TestOrigin.Request) -> String {
    guard request.path.hasPrefix("http://") else { return request.path }
    return String(request.path.dropFirst(7).drop { $0 != "/" })
  }
}

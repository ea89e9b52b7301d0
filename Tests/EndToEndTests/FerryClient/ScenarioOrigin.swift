import Foundation
import TestSupport

/// An origin whose paths name the response.
enum ScenarioOrigin {
  static func make() -> TestOrigin {
    TestOrigin { request, socket in try answer(request, socket) }
  }

  static let body = Array("Peru has the capital Lima".utf8)

  private static func answer(_ request: TestOrigin.Request, _ socket: Socket) throws -> Bool {
    let path = request.path.split(separator: "?").first.map(String.init) ?? ""
    let query = URLComponents(string: request.path)?.queryItems ?? []
    func parameter(_ name: String) -> String? { query.first { $0.name == name }?.value }
    let parts = path.split(separator: "/").map(String.init)
    func reply(_ status: String, _ body: [UInt8] = [], _ fields: [(String, String)] = []) throws -> Bool {
      try socket.write(TestOrigin.reply(status, request.method == "HEAD" ? [] : body, fields))
      return true
    }
    switch parts.first ?? "" {
    case "echo": return try reply("200 OK", request.body)
    // The request as text: the line, and the fields in lower case.
    case "request":
      let fields = request.fields.map { "\($0.name.lowercased()): \($0.value)" }
      let text = ([request.line] + fields).joined(separator: "\n") + "\n\n"
      return try reply("200 OK", Array(text.utf8) + request.body)
    case "status" where Int(parts[1]) != nil:
      let fields = parameter("location").map { [("Location", $0)] } ?? []
      return try reply("\(parts[1]) Reason", body, fields)
    case "loop":
      let count = Int(parts[1]) ?? 0
      if count == 0 { return try reply("200 OK", body) }
      return try reply("302 Found", [], [("Location", "/loop/\(count - 1)")])
    case "cookie": return try reply("200 OK", body, [("Set-Cookie", "fruit=apple; Path=/")])
    case "cookie-redirect":
      return try reply("302 Found", [], [("Set-Cookie", "fruit=pear; Path=/"), ("Location", "/request")])
    case "login":
      let isRight = request["Authorization"] == "Basic \(Data("user:passwd".utf8).base64EncodedString())"
      if isRight { return try reply("200 OK", body) }
      return try reply("401 Unauthorized", Array("no".utf8), [("WWW-Authenticate", "Basic realm=\"r\"")])
    case "unauthorized": return try reply("401 Unauthorized", Array("no".utf8))
    case "tight-field":
      try socket.write("HTTP/1.1 200 OK\r\nContent-Length:4\r\nX-Fruit:apple\r\n\r\nfour")
      return true
    case "until-close":
      try socket.write("HTTP/1.1 200 OK\r\nX: y\r\n\r\nuntil close")
      return false
    case "malformed":
      try socket.write("HTTP/1.1 two hundred\r\n\r\n")
      return false
    // The response never comes; the connection ends with the request.
    case "silence":
      _ = try? socket.readLine()
      return false
    default: return try reply("200 OK", body, [("ETag", "\"one\""), ("Cache-Control", "max-age=60")])
    }
  }
}

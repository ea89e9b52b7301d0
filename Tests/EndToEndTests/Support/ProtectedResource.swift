import Foundation
import JSON
import TestSupport
import Testing

/// A password-protected resource on a real server.
struct ProtectedResource: Sendable, CustomTestStringConvertible {
  let isApache: Bool
  let isSecure: Bool
  let isDigest: Bool

  /// The resources on connections whose requests are logged at once.
  static let all = [
    Self(isApache: false, isSecure: false, isDigest: false),
    Self(isApache: false, isSecure: true, isDigest: false),
    Self(isApache: true, isSecure: false, isDigest: false),
    Self(isApache: true, isSecure: false, isDigest: true),
  ]
  /// The resources on Apache over HTTP/2, which logs requests late: when it next serves the connection.
  static let late = [
    Self(isApache: true, isSecure: true, isDigest: false),
    Self(isApache: true, isSecure: true, isDigest: true),
  ]
  var logsLate: Bool { isApache && isSecure }

  var folder: String { isDigest ? "/digest/" : "/basic/" }
  var realm: String { isApache ? (isDigest ? "digest realm" : "basic realm") : "nginx realm" }
  var scheme: String { isDigest ? "Digest" : "Basic" }
  var method: String { "NSURLAuthenticationMethodHTTP" + scheme }
  var user: String { "alice" }
  var password: String {
    guard isApache else { return NginxServer.password }
    return isDigest ? ApacheServer.digestPassword : ApacheServer.basicPassword
  }
  var testDescription: String { "\(isApache ? "apache" : "nginx") \(scheme)\(isSecure ? " TLS" : "")" }

  /// Returns the text that the server logs of a request with these credentials.
  func shown(_ user: String, _ password: String) -> String {
    guard isDigest else { return "Basic " + Data("\(user):\(password)".utf8).base64EncodedString() }
    return "Digest username=\"\(user)\", realm=\"\(realm)\""
  }
}

/// nginx and Apache, with certificates of the same authority.
struct LoginServers {
  let nginx: NginxServer
  let apache: ApacheServer

  init() throws { (nginx, apache) = (try NginxServer(), try ApacheServer()) }

  var host: String { "localhost" }

  func url(_ place: ProtectedResource, _ name: String) -> String {
    guard place.isApache else {
      return nginx.url(place.isSecure ? .good : .plain, place.folder + name, host: host)
    }
    return apache.url(place.isSecure ? .secure : .plain, place.folder + name, host: host)
  }

  /// Returns the log lines that contain `part`. Waits until there are `count` of them.
  func log(_ place: ProtectedResource, of part: String, atLeast count: Int) -> [String] {
    var total = 0
    while true {
      let lines = place.isApache ? apache.log(atLeast: total) : nginx.log(atLeast: total)
      let own = lines.filter { $0.contains(part) }
      if own.count >= count || lines.count < total { return own }
      total = lines.count + 1
    }
  }
}

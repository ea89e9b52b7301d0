import Foundation
import JSON
import TestSupport
import Testing

/// A place on a real server that wants a user and a password.
struct LoginPlace: Sendable, CustomTestStringConvertible {
  let isApache: Bool
  let isSecure: Bool
  let isDigest: Bool

  /// Those that log a request as soon as it is answered.
  static let all = [
    Self(isApache: false, isSecure: false, isDigest: false),
    Self(isApache: false, isSecure: true, isDigest: false),
    Self(isApache: true, isSecure: false, isDigest: false),
    Self(isApache: true, isSecure: false, isDigest: true),
  ]
  /// Apache logs the requests of an HTTP/2 connection when it next has to do with that.
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

  /// What the server logs of a request that shows this user.
  func shown(_ user: String, _ password: String) -> String {
    guard isDigest else { return "Basic " + Data("\(user):\(password)".utf8).base64EncodedString() }
    return "Digest username=\"\(user)\", realm=\"\(realm)\""
  }
}

/// nginx and Apache, both with certificates of one authority.
struct LoginServers {
  let nginx: NginxServer
  let apache: ApacheServer

  init() throws { (nginx, apache) = (try NginxServer(), try ApacheServer()) }

  var host: String { "localhost" }

  func url(_ place: LoginPlace, _ name: String) -> String {
    guard place.isApache else {
      return nginx.url(place.isSecure ? .good : .plain, place.folder + name, host: host)
    }
    return apache.url(place.isSecure ? .secure : .plain, place.folder + name, host: host)
  }

  /// The lines of the requests whose target has that part; waits, at most 5 s, until there are so many.
  func log(_ place: LoginPlace, of part: String, atLeast count: Int) -> [String] {
    var total = 0
    while true {
      let lines = place.isApache ? apache.log(atLeast: total) : nginx.log(atLeast: total)
      let own = lines.filter { $0.contains(part) }
      if own.count >= count || lines.count < total { return own }
      total = lines.count + 1
    }
  }
}

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

/// Answers to challenges, as clients write them.
enum LoginAnswer {
  static let cancel = #"{"disposition":"cancelAuthenticationChallenge"}"#
  static let reject = #"{"disposition":"rejectProtectionSpace"}"#
  static let byDefault = #"{"disposition":"performDefaultHandling"}"#
  static let nobody = #"{"disposition":"useCredential"}"#

  static func use(_ user: String, _ password: String, _ persistence: String = "none") -> String {
    #"{"disposition":"useCredential","credential":"#
      + #"{"user":"\#(user)","password":"\#(password)","persistence":"\#(persistence)"}}"#
  }
}

extension FerryProcess {
  /// The delegate of a session that asks who it is, and trusts servers by itself.
  static let asksForLogin = #"{"sessionChallenges":"default","taskChallenges":"ask"}"#

  /// The next challenge of the task, which must not end before that.
  func login(of task: String, after sequence: Int64 = 0) throws -> EventReader.Event {
    let types = "task.didReceiveChallenge,task.didComplete"
    let event = try events("/v1/tasks/\(task)/events?after=\(sequence)&types=\(types)").next()
    return try #require(event?.decision.isEmpty == false ? event : nil, "nobody is asked")
  }

  /// Runs a task whose challenges are answered one after the other, and returns it when it has ended.
  func run(_ url: String, in session: String, answers: [String], request: String = "") throws -> JSONValue {
    let id = try create(url, session: session, request: request)
    var sequence: Int64 = 0
    for text in answers {
      let event = try login(of: id, after: sequence)
      sequence = event.id ?? 0
      try answer(event.decision, text)
    }
    return try end(of: id)
  }

  /// The bytes of a task's body.
  func bytes(of task: String) throws -> [UInt8] { try call("GET", "/v1/tasks/\(task)/body").body }
}

extension JSONValue {
  var status: Int64? { self["response"]?["status"]?.integer }
}

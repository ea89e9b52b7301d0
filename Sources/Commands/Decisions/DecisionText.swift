internal import FerryClient
internal import JSON

/// A decision as lines for people.
struct DecisionText {
  enum Kind: Equatable { case password, certificate, trust, redirect, response, caching, delayed, body }

  let json: JSONValue

  var id: String { json["id"]?.string ?? "" }
  private var data: JSONValue { json["data"] ?? .null }
  /// The request that a redirect proposes.
  var proposedRequest: JSONValue { data["request"] ?? .null }
  private var space: JSONValue? { data["protectionSpace"] }

  var kind: Kind {
    switch json["type"]?.string {
    case "task.willPerformHTTPRedirection": return .redirect
    case "dataTask.didReceiveResponse": return .response
    case "dataTask.willCacheResponse": return .caching
    case "task.willBeginDelayedRequest": return .delayed
    case "task.needNewBodyStream": return .body
    default: break
    }
    switch space?["authenticationMethod"]?.string {
    case "NSURLAuthenticationMethodServerTrust": return .trust
    case "NSURLAuthenticationMethodClientCertificate": return .certificate
    default: return .password
    }
  }

  var lines: [String] {
    var lines = [
      "decision \(id) of task \(json["taskId"]?.string ?? "-"), until \(json["expiresAt"]?.string ?? "-")"
    ]
    switch kind {
    case .password, .certificate:
      let method = (space?["authenticationMethod"]?.string ?? "").replacing(
        "NSURLAuthenticationMethod", with: "")
      lines.append(
        "\(place) asks who you are (\(method))\(space?["realm"]?.string.map { ", realm '\($0)'" } ?? "")")
      if let count = data["previousFailureCount"]?.integer, count > 0 {
        lines.append("\(count) credentials were refused")
      }
      for name in space?["distinguishedNames"]?.strings ?? [] {
        lines.append("  accepted authority: \(name)")
      }
    case .trust: lines += trust
    case .redirect:
      lines.append(
        "\(status) redirects to \(data["request"]?["method"]?.string ?? "GET") \(data["request"]?["url"]?.string ?? "")"
      )
    case .response: lines.append("\(status) from \(data["response"]?["url"]?.string ?? "")")
    case .caching: lines.append("\(status) of \(data["countOfBytes"]?.integer ?? 0) bytes may be stored")
    case .delayed: lines.append("the request to \(data["request"]?["url"]?.string ?? "") is due")
    case .body: lines.append("the body must be sent again; a program must do this")
    }
    return lines.map(PlainText.safe)
  }

  private var status: String { HTTPStatusText.of(Int(data["response"]?["status"]?.integer ?? 0)) }

  private var place: String {
    let port = space?["port"]?.integer.map { ":\($0)" } ?? ""
    return "\(space?["isProxy"]?.bool == true ? "proxy " : "")\(space?["host"]?.string ?? "")\(port)"
  }

  /// Whether the chain of a trust decision is trusted without an answer.
  var isTrusted: Bool { space?["serverTrust"]?["evaluation"]?["isTrusted"]?.bool == true }

  /// Returns the word that a typed answer means; `nil` if it means none or several.
  static func word(_ answer: String, of words: [String]) -> String? {
    if words.contains(answer) { return answer }
    let found = words.filter { $0.lowercased().hasPrefix(answer.lowercased()) }
    return found.count == 1 ? found.first : nil
  }

  private var trust: [String] {
    let evaluation = space?["serverTrust"]?["evaluation"]
    var lines = [
      "\(place): \(isTrusted ? "the certificate is trusted" : "the certificate is not trusted: \(evaluation?["message"]?.string ?? "")")"
    ]
    let chain = space?["serverTrust"]?["certificates"]?.elements ?? []
    for (index, certificate) in chain.enumerated() {
      if chain.count > 1 { lines.append("certificate \(index + 1) of \(chain.count)") }
      lines.append("  subject  \(certificate["subject"]?.string ?? "")")
      lines.append("  issuer   \(certificate["issuer"]?.string ?? "")")
      lines.append(
        "  valid    \(certificate["notBefore"]?.string ?? "") to \(certificate["notAfter"]?.string ?? "")")
      lines.append("  SHA-256  \(certificate["sha256"]?.string ?? "")")
    }
    return lines
  }
}

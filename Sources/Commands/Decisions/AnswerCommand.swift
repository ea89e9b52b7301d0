internal import ArgumentParser
internal import FerryClient
internal import JSON
internal import Limits

/// The command `ferry answer`.
struct AnswerCommand: ClientCommand {
  static let configuration = CommandConfiguration(
    commandName: "answer", abstract: "Answer the decisions of the delegate.",
    discussion: """
      Without an id, the command asks for an answer to each pending decision. It shows certificates in readable form, and does \
      not show passwords. An empty answer leaves a decision open.
      """)
  private static let searched = ClientLimits.searchedDecisions.value

  @Argument(help: "Id of a decision, or its last 8 or more characters.")
  var id: String?
  @Flag(help: "Only list the pending decisions.")
  var list = false
  @Flag(help: "Print each decision as one line of JSON; with --list.")
  var json = false
  @OptionGroup var service: ServerOptions

  func run(_ connection: ServiceConnection) async throws(CommandFailure) {
    var decisions = try await pending(on: connection)
    if let id {
      let id = try ShortID.match(id, in: decisions, "pending decision")
      decisions = decisions.filter { $0["id"]?.string == id }
    }
    if list {
      return try Terminal.output(
        json ? decisions.map(JSONLine.text) : decisions.flatMap { DecisionText(json: $0).lines })
    }
    guard !decisions.isEmpty else { return try Terminal.output(["no decision is pending"]) }
    for decision in decisions {
      let text = DecisionText(json: decision)
      try Terminal.output(text.lines)
      guard let answer = try Self.ask(text) else { continue }
      _ = try await connection.reply(ServiceRequest("POST", "/v1/decisions/\(text.id)", json: answer))
      try Terminal.output(["answered \(text.id)"])
    }
  }

  private func pending(on connection: ServiceConnection) async throws(CommandFailure) -> [JSONValue] {
    var decisions: [JSONValue] = []
    for session in try await connection.items("/v1/sessions", upTo: Self.searched) {
      guard let id = session["id"]?.string else { continue }
      decisions += try await connection.items(
        "/v1/sessions/\(id)/decisions", [("state", "pending")], upTo: Self.searched)
    }
    return decisions
  }

  /// Asks for an answer; `nil` to leave the decision open.
  private static func ask(_ text: DecisionText) throws(CommandFailure) -> [UInt8]? {
    switch text.kind {
    case .password:
      guard let user = try question("User (empty to leave it open, ! to cancel the task): ") else {
        return nil
      }
      guard user != "!" else { return disposition("cancelAuthenticationChallenge") }
      guard let password = try Terminal.ask("Password: ", isSecret: true) else { return nil }
      return credential { writer in
        writer.field("user", user)
        writer.field("password", password)
        writer.field("persistence", "forSession")
      }
    case .trust:
      switch try choice("Trust this certificate?", ["yes", "no", "cancel"]) {
      case "yes"?: return credential { $0.field("trust", true) }
      // The default handling would accept a chain that is trusted.
      case "no"? where !text.isTrusted: return disposition("performDefaultHandling")
      case "no"?, "cancel"?: return disposition("cancelAuthenticationChallenge")
      default: return nil
      }
    case .certificate:
      guard let path = try question("PEM file with the certificate and the key (! for none): ") else {
        return nil
      }
      guard path != "!" else { return disposition("performDefaultHandling") }
      let pem = try PEMFile.parts(path)
      return credential { writer in
        writer.field("clientCertificate", pem.certificates)
        writer.field("privateKey", pem.key)
      }
    case .redirect:
      switch try choice("Follow the redirect?", ["yes", "no"]) {
      case "yes"?: return object { $0.field("request", text.proposedRequest) }
      case "no"?: return object { $0.nullField("request") }
      default: return nil
      }
    case .response:
      return try choice("Receive the body?", ["allow", "cancel", "becomeDownload"]).map(disposition)
    case .delayed:
      return try choice("Send the request?", ["continueLoading", "cancel"]).map(disposition)
    case .caching:
      return try choice("Store the response?", ["allowed", "allowedInMemoryOnly", "notAllowed"]).map { word in
        object { $0.field("storagePolicy", word) }
      }
    case .body: return nil
    }
  }

  /// Asks until the answer is one of the words, or a beginning that only one of them has; `nil` for an empty answer.
  private static func choice(_ text: String, _ words: [String]) throws(CommandFailure) -> String? {
    while let answer = try question("\(text) [\(words.joined(separator: "/"))] ") {
      if let word = DecisionText.word(answer, of: words) { return word }
    }
    return nil
  }

  private static func question(_ text: String) throws(CommandFailure) -> String? {
    guard let answer = try Terminal.ask(text) else {
      throw CommandFailure(.usage, "there is no terminal to ask for the answer; use `ferry answer --list`")
    }
    return answer.isEmpty ? nil : answer
  }

  private static func object(_ body: (inout JSONWriter) -> Void) -> [UInt8] {
    var writer = JSONWriter()
    writer.object(body)
    return writer.bytes
  }

  private static func disposition(_ word: String) -> [UInt8] { object { $0.field("disposition", word) } }

  private static func credential(_ body: (inout JSONWriter) -> Void) -> [UInt8] {
    object { writer in
      writer.field("disposition", "useCredential")
      writer.key("credential")
      writer.object(body)
    }
  }
}

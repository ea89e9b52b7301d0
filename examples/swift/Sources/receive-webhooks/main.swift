// Receives webhook messages, prints them, and answers challenges, redirects and responses as a delegate.
// Usage: SECRET=whsec_… ORIGIN_USER=… ORIGIN_PASSWORD=… receive-webhooks PORT
import FerryClient
import FlyingFox
import Foundation

func exitWithUsage() -> Never {
  FileHandle.standardError.write(
    Data("usage: SECRET=whsec_… ORIGIN_USER=… ORIGIN_PASSWORD=… receive-webhooks PORT\n".utf8))
  exit(2)
}

let environment = ProcessInfo.processInfo.environment
guard CommandLine.arguments.count == 2, let port = UInt16(CommandLine.arguments[1]),
  let secret = environment["SECRET"]
else { exitWithUsage() }
let credential = FerryCredential(
  user: environment["ORIGIN_USER"] ?? "", password: environment["ORIGIN_PASSWORD"] ?? "", persistence: .none)

/// Prints a line without a buffer.
@Sendable func show(_ line: String) { FileHandle.standardOutput.write(Data((line + "\n").utf8)) }

/// Returns the answer, if the message is a decision.
@Sendable func answer(_ message: FerryWebhookMessage) -> FerryDecisionAnswer? {
  show("\(message.type) \(message.taskID ?? "")")
  switch message.event {
  case .challenge(let challenge):
    // The password was refused before.
    guard challenge.previousFailureCount == 0 else { return .challenge(.cancelAuthenticationChallenge) }
    return .challenge(.useCredential, credential)
  case .redirection(let response, let request):
    // Redirects to other hosts are not followed.
    return .redirection(response.url?.host == request.url?.host ? request : nil)
  case .response(let response):
    return .response(response.mimeType == "application/zip" ? .becomeDownload : .allow)
  case .delayedRequest, .caching, .completion, .other: return nil
  }
}

do {
  let webhook = try FerryWebhook(keys: [secret])
  let server = HTTPServer(address: try .inet(ip4: "127.0.0.1", port: port), logger: .disabled)
  await server.appendRoute("POST *") { request in
    let headers = Dictionary(request.headers.map { ($0.key.rawValue, $0.value) }) { first, _ in first }
    // If an error is thrown, the server replies 500, and the service sends the message again.
    let reply = try await webhook.respond(headers: headers, body: request.bodyData, handler: answer)
    let fields = HTTPHeaders(
      Dictionary(uniqueKeysWithValues: reply.headers.map { (HTTPHeader($0.key), $0.value) }))
    return HTTPResponse(
      statusCode: HTTPStatusCode(reply.status, phrase: ""), headers: fields, body: reply.body)
  }
  async let running: Void = server.run()
  try await server.waitUntilListening()
  show("listening on http://127.0.0.1:\(port)")
  try await running
} catch {
  print("failed: \(error)")
  exit(1)
}

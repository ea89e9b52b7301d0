// Downloads a protected resource: the delegate answers the login.
// Usage: ORIGIN_USER=… ORIGIN_PASSWORD=… answer-challenge URL
import FerryClient
import Foundation

func exitWithUsage() -> Never {
  FileHandle.standardError.write(Data("usage: ORIGIN_USER=… ORIGIN_PASSWORD=… answer-challenge URL\n".utf8))
  exit(2)
}

final class Login: FerrySessionTaskDelegate {
  let credential: FerryCredential
  init(user: String, password: String) {
    credential = FerryCredential(user: user, password: password, persistence: .forSession)
  }
  var decisions: FerryDecisions { .taskChallenges }

  func urlSession(
    _ session: FerrySession, task: FerrySessionTask, didReceive challenge: FerryAuthenticationChallenge,
    completionHandler: @escaping @Sendable (FerrySession.AuthChallengeDisposition, FerryCredential?) -> Void
  ) {
    print("login for \(challenge.protectionSpace.realm ?? challenge.protectionSpace.host)")
    // The credential was refused before.
    guard challenge.previousFailureCount == 0 else {
      return completionHandler(.cancelAuthenticationChallenge, nil)
    }
    completionHandler(.useCredential, credential)
  }
}

let environment = ProcessInfo.processInfo.environment
guard CommandLine.arguments.count == 2, let url = URL(string: CommandLine.arguments[1]),
  let user = environment["ORIGIN_USER"], let password = environment["ORIGIN_PASSWORD"]
else { exitWithUsage() }
let login = Login(user: user, password: password)
let session = FerrySession(configuration: .default, delegate: login, delegateQueue: nil)
do {
  let (data, response) = try await session.data(from: url)
  print((response as? HTTPFerryResponse)?.statusCode ?? 0, String(decoding: data, as: UTF8.self))
} catch {
  print("failed: \(error)")
  exit(1)
}

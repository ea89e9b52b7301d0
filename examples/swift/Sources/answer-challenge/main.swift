// Downloads a protected resource: the delegate answers the login.
// Usage: answer-challenge URL USER PASSWORD
import FerryClient
import Foundation

func exitWithUsage() -> Never {
  FileHandle.standardError.write(Data("usage: answer-challenge URL USER PASSWORD\n".utf8))
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

guard CommandLine.arguments.count == 4, let url = URL(string: CommandLine.arguments[1]) else { exitWithUsage() }
let login = Login(user: CommandLine.arguments[2], password: CommandLine.arguments[3])
let session = FerrySession(configuration: .default, delegate: login, delegateQueue: nil)
do {
  let (data, response) = try await session.data(from: url)
  print((response as? HTTPFerryResponse)?.statusCode ?? 0, String(decoding: data, as: UTF8.self))
} catch {
  print("failed: \(error)")
  exit(1)
}

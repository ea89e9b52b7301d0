// Imports a file by its URL: the service downloads it and posts a message to the webhook at the end.
// Usage: [SECRET=whsec_…] import-by-url URL WEBHOOK-URL
import FerryClient
import Foundation

func exitWithUsage() -> Never {
  FileHandle.standardError.write(Data("usage: [SECRET=whsec_…] import-by-url URL WEBHOOK-URL\n".utf8))
  exit(2)
}

guard CommandLine.arguments.count == 3, let url = URL(string: CommandLine.arguments[1]),
  let webhook = URL(string: CommandLine.arguments[2])
else { exitWithUsage() }

let task = FerrySession.shared.downloadTask(with: url)
// Without a secret, the service signs with its own.
task.completionWebhook = FerryCompletionWebhook(
  url: webhook, secret: ProcessInfo.processInfo.environment["SECRET"])
task.failOnStatus = true
task.labels = ["source": "example"]
task.resume()

// The import continues without this program, which ends when the service has stored the task.
do { print("created", try await task.identifierInService()) } catch {
  print("failed: \(error)")
  exit(1)
}

// Downloads a list of URLs into a directory and prints the progress.
// Usage: mirror-list DIRECTORY URL…
import FerryClient
import Foundation
import Synchronization

func exitWithUsage() -> Never {
  FileHandle.standardError.write(Data("usage: mirror-list DIRECTORY URL…\n".utf8))
  exit(2)
}

final class Progress: FerrySessionDownloadDelegate {
  // The service follows redirects and evaluates servers itself.
  var decisions: FerryDecisions { [] }
  let directory: URL
  private let hasFailed = Mutex(false)

  init(directory: URL) { self.directory = directory }

  func urlSession(
    _ session: FerrySession, downloadTask: FerrySessionDownloadTask, didWriteData bytesWritten: Int64,
    totalBytesWritten: Int64, totalBytesExpectedToWrite: Int64
  ) { print("\(name(of: downloadTask)): \(totalBytesWritten) of \(totalBytesExpectedToWrite) bytes") }

  func urlSession(
    _ session: FerrySession, downloadTask: FerrySessionDownloadTask, didFinishDownloadingTo location: URL
  ) {
    let target = directory.appendingPathComponent(name(of: downloadTask))
    do { try FileManager.default.moveItem(at: location, to: target) } catch {
      print("\(target.path): \(error)")
      hasFailed.withLock { $0 = true }
    }
  }

  func urlSession(
    _ session: FerrySession, task: FerrySessionTask, didCompleteWithError error: (any Error)?
  ) {
    print("\(name(of: task)): \(error.map { "\($0)" } ?? "done")")
    if error != nil { hasFailed.withLock { $0 = true } }
  }

  func urlSession(_ session: FerrySession, didBecomeInvalidWithError error: (any Error)?) {
    if let error { print("failed: \(error)") }
    exit(error != nil || hasFailed.withLock { $0 } ? 1 : 0)
  }

  private func name(of task: FerrySessionTask) -> String {
    task.response?.suggestedFilename ?? task.originalRequest?.url?.lastPathComponent ?? "file"
  }
}

guard CommandLine.arguments.count > 2 else { exitWithUsage() }
let directory = URL(fileURLWithPath: CommandLine.arguments[1])
let session = FerrySession(
  configuration: .default, delegate: Progress(directory: directory), delegateQueue: nil)
for text in CommandLine.arguments.dropFirst(2) {
  guard let url = URL(string: text) else { exitWithUsage() }
  let task = session.downloadTask(with: url)
  // The page of an error is no copy of the file.
  task.failOnStatus = true
  task.resume()
}
session.finishTasksAndInvalidate()
while true { try await Task.sleep(for: .seconds(3600)) }

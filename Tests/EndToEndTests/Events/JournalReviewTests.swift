import Foundation
import JSON
import TestSupport
import Testing

/// The review of each service's journal at the end of a test, here with faults that it must find.
@Suite(.blocking) struct JournalReviewTests {
  private let origin = TestOrigin { request, socket in
    try socket.write(TestOrigin.reply("200 OK", Array("ok".utf8)))
    return true
  }
  /// Repeats the first row of a task, its creation, after all other rows.
  private static let secondCreation = """
    INSERT INTO journal (first, last, session, task, time, stream)
    SELECT (SELECT max(last) FROM journal) + 1, (SELECT max(last) FROM journal) + 1 + last - first,
      session, task, time, stream
    FROM journal WHERE task IS NOT NULL ORDER BY first LIMIT 1
    """

  /// Returns the directory of a killed service that has run a task of each kind.
  private func leave() throws -> String {
    let directory = TemporaryDirectory.make("ferry-left")
    let ferry = try FerryProcess(directory: directory)
    for kind in ["data", "download"] { _ = try ferry.run(origin.url, kind: kind) }
    let body = #","method":"POST","body":{"text":"a"}"#
    _ = try ferry.run(origin.url, kind: "upload", request: body)
    ferry.kill()
    return directory
  }

  @Test func `review reads each task`() throws {
    let directory = try leave()
    defer { try? FileManager.default.removeItem(atPath: directory) }
    let review = try #require(JournalReview(of: directory))
    #expect(review.taskCount == 3 && review.faults.isEmpty, "\(review.faults)")
  }

  @Test(arguments: [
    (secondCreation, "nothing follows didComplete"),
    // The row contains the end of the last task, with its metrics.
    ("DELETE FROM journal WHERE first = (SELECT max(first) FROM journal)", "its row says completed"),
    ("UPDATE task SET state = 'suspended'", "its row says suspended"),
    ("UPDATE task SET kind = 'download' WHERE kind = 'data'", "a delegate call fits the task's kind"),
    (
      "DELETE FROM journal WHERE task IS NOT NULL AND first = (SELECT min(first) FROM journal)",
      "didCreate is the first event"
    ),
    ("UPDATE session SET state = 'invalid' WHERE type = 'default'", "its row says invalid"),
  ])
  func `review finds faults`(_ statement: String, _ fault: String) throws {
    let directory = try leave()
    defer { try? FileManager.default.removeItem(atPath: directory) }
    try OfflineDatabase.execute(statement, in: directory)
    let review = try #require(JournalReview(of: directory))
    #expect(review.faults.contains { $0.contains(fault) }, "\(review.faults)")
  }

  /// The test that started the service fails.
  @Test func `test fails if the review finds a fault`() throws {
    try withKnownIssue {
      let ferry = try FerryProcess()
      _ = try ferry.run(origin.url)
      ferry.kill()
      try OfflineDatabase.execute(Self.secondCreation, in: ferry.directory)
    } matching: { issue in
      issue.comments.contains { $0.rawValue.contains("nothing follows didComplete") }
    }
  }

  /// The review runs after the last service of a directory has ended.
  @Test func `services of one directory are reviewed together`() throws {
    let directory = TemporaryDirectory.make("ferry-left")
    defer { try? FileManager.default.removeItem(atPath: directory) }
    try withKnownIssue {
      var ferry = try FerryProcess(directory: directory)
      _ = try ferry.run(origin.url)
      ferry.kill()
      try OfflineDatabase.execute(Self.secondCreation, in: directory)
      ferry = try FerryProcess(directory: directory)
      #expect(try ferry.run(origin.url)["state"]?.string == "completed")
    } matching: { issue in
      issue.comments.contains { $0.rawValue.contains("nothing follows didComplete") }
    }
  }
}

import Foundation
import JSON
import TestSupport
import Testing

/// What every test's service has told is looked at when it is over. Here are services of which something wrong is to be found.
@Suite(.blocking) struct JournalReviewTests {
  private let origin = TestOrigin { request, socket in
    try socket.write(TestOrigin.reply("200 OK", Array("ok".utf8)))
    return true
  }
  /// The first row of a task, its creation, once more behind all others.
  private static let secondCreation = """
    INSERT INTO journal (first, last, session, task, time, stream)
    SELECT (SELECT max(last) FROM journal) + 1, (SELECT max(last) FROM journal) + 1 + last - first,
      session, task, time, stream
    FROM journal WHERE task IS NOT NULL ORDER BY first LIMIT 1
    """

  /// The directory of a service that has carried out a task of each kind, and was killed.
  private func leave() throws -> String {
    let directory = TemporaryDirectory.make("ferry-left")
    let ferry = try FerryProcess(directory: directory)
    for kind in ["data", "download"] { _ = try ferry.run(origin.url, kind: kind) }
    let body = #","method":"POST","body":{"text":"a"}"#
    _ = try ferry.run(origin.url, kind: "upload", request: body)
    ferry.kill()
    return directory
  }

  @Test func everyTaskIsLookedAt() throws {
    let directory = try leave()
    defer { try? FileManager.default.removeItem(atPath: directory) }
    let review = try #require(JournalReview(of: directory))
    #expect(review.taskCount == 3 && review.faults.isEmpty, "\(review.faults)")
  }

  @Test(arguments: [
    (secondCreation, "nothing follows didComplete"),
    // The end of the last task, with its metrics.
    ("DELETE FROM journal WHERE first = (SELECT max(first) FROM journal)", "its row says completed"),
    ("UPDATE task SET state = 'suspended'", "its row says suspended"),
    ("UPDATE task SET kind = 'download' WHERE kind = 'data'", "a call is one of the task's kind"),
    (
      "DELETE FROM journal WHERE task IS NOT NULL AND first = (SELECT min(first) FROM journal)",
      "didCreate is the first event"
    ),
    ("UPDATE session SET state = 'invalid' WHERE type = 'default'", "its row says invalid"),
  ])
  func whatIsWrongIsFound(_ statement: String, _ fault: String) throws {
    let directory = try leave()
    defer { try? FileManager.default.removeItem(atPath: directory) }
    try LeftDatabase.execute(statement, in: directory)
    let review = try #require(JournalReview(of: directory))
    #expect(review.faults.contains { $0.contains(fault) }, "\(review.faults)")
  }

  /// The test in which a service was started fails.
  @Test func theTestHearsOfIt() throws {
    try withKnownIssue {
      let ferry = try FerryProcess()
      _ = try ferry.run(origin.url)
      ferry.kill()
      try LeftDatabase.execute(Self.secondCreation, in: ferry.directory)
    } matching: { issue in
      issue.comments.contains { $0.rawValue.contains("nothing follows didComplete") }
    }
  }

  /// Of one that goes on with the directory, the test hears when that is over as well.
  @Test func severalServicesOfADirectoryAreOne() throws {
    let directory = TemporaryDirectory.make("ferry-left")
    defer { try? FileManager.default.removeItem(atPath: directory) }
    try withKnownIssue {
      var ferry = try FerryProcess(directory: directory)
      _ = try ferry.run(origin.url)
      ferry.kill()
      try LeftDatabase.execute(Self.secondCreation, in: directory)
      ferry = try FerryProcess(directory: directory)
      #expect(try ferry.run(origin.url)["state"]?.string == "completed")
    } matching: { issue in
      issue.comments.contains { $0.rawValue.contains("nothing follows didComplete") }
    }
  }
}

import JSON
import Testing

@testable import Commands

@Suite struct TransferReportTests {
  private static func event(_ type: String, _ data: String) throws -> [TransferReport] {
    TransferReport.of(
      event: try JSONParser.parse(Array(#"{"id":1,"type":"\#(type)","taskId":"t","data":\#(data)}"#.utf8)))
  }

  @Test func `events become reports`() throws {
    #expect(
      try Self.event("task.didCreate", #"{"labels":{"ferry-get-file":"k"}}"#) == [
        .created(task: "t", key: "k")
      ])
    #expect(try Self.event("task.didCreate", "{}") == [])
    #expect(
      try Self.event(
        "task.didChangeState",
        #"{"state":"running","phase":"waitingToRetry","lastError":{"status":503},"nextAttemptAt":"1970-01-01T00:00:09Z"}"#
      ) == [.waiting(task: "t", reason: "503 Service Unavailable", until: 9, isRetry: true)])
    #expect(
      try Self.event("downloadTask.didWriteData", #"{"totalBytesWritten":3,"totalBytesExpectedToWrite":-1}"#)
        == [.progress(task: "t", received: 3, expected: nil)])
    #expect(
      try Self.event(
        "downloadTask.didFinishDownloading", #"{"body":{"size":3,"sha256":"ab"},"suggestedFilename":"n"}"#)
        == [.body(task: "t", .init(suggestedName: "n", size: 3, sha256: "ab"))])
    #expect(try Self.event("task.didComplete", #"{"error":null}"#) == [.ended(task: "t", nil)])
    #expect(try Self.event("session.didBecomeInvalid", "{}") == [])
  }

  @Test(arguments: [
    ("FerryErrorDomain", 7, CommandFailure.Cause.status), ("FerryErrorDomain", 5, .mismatch),
    ("FerryErrorDomain", 1, .refused), ("FerryErrorDomain", 4, .network),
    ("NSURLErrorDomain", -1001, .timedOut),
    ("NSURLErrorDomain", -1004, .network),
  ])
  func `error has the cause of its code`(domain: String, code: Int, cause: CommandFailure.Cause) throws {
    let reports = try Self.event(
      "task.didComplete",
      #"{"error":{"domain":"\#(domain)","code":\#(code),"message":"m\u001b[2J","status":404}}"#)
    guard case .ended(_, let failure?)? = reports.first else {
      Issue.record("\(reports)")
      return
    }
    #expect(failure.cause == cause)
    #expect(failure.message == (cause == .status ? "404 Not Found" : "m?[2J"))
  }
}

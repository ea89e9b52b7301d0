import BlobStore
import Foundation
import TestSupport
import Testing
import TransferModel

/// The treatment of files that no running task uses.
@Suite struct OrphanDispositionTests {
  private static let id = TaskID(high: 1, low: 1)

  private static func task(isOver: Bool = true, _ adjust: (inout TransferTask) -> Void = { _ in })
    -> TransferTask
  {
    var task = TransferTask(
      id: id, sessionID: .shared, taskIdentifier: 1, createdAt: Timestamp(seconds: 1),
      specification: TaskSpecification(kind: .download, request: TransferRequest(url: "http://a/")))
    if isOver { _ = task.lifecycle.complete() }
    adjust(&task)
    return task
  }
  private static let whole = task {
    $0.body = TaskBody(size: 1, sha256: "", expiresAt: Timestamp(seconds: 2))
  }
  private static let failed = task { $0.error = TransferError(.networkConnectionLost, "") }
  private static let resumable = task {
    $0.error = TransferError(.networkConnectionLost, "")
    $0.partial = ResumePoint(partial: PartialBody(offset: 1, total: -1, validator: ""), source: id)
  }

  private static let (mine, other) = (BlobStamp(epoch: 5), BlobStamp(epoch: 4))
  private static let stamped = task {
    $0.body = TaskBody(size: 1, sha256: "", expiresAt: Timestamp(seconds: 2), blob: other)
    $0.partial = ResumePoint(
      partial: PartialBody(offset: 1, total: -1, validator: ""), source: id, blob: other)
  }

  private static let spooled: TransferTask = {
    let body = SpooledBody(size: 1, blob: mine, key: [])
    var task = TransferTask(
      id: id, sessionID: .shared, taskIdentifier: 1, createdAt: Timestamp(seconds: 1),
      specification: TaskSpecification(
        kind: .data, request: TransferRequest(url: "http://a/", method: "PUT", body: .spooled(body))))
    _ = task.lifecycle.complete()
    return task
  }()

  /// The delegate gave the task another request.
  private static let redirected: TransferTask = {
    var task = spooled
    task.currentRequest.body = .spooled(SpooledBody(size: 2, blob: other, key: []))
    return task
  }()

  private static let cases: [(TransferTask?, BlobKey.Part, BlobStamp?, OrphanDisposition)] = [
    (nil, .body, nil, .quarantine), (nil, .draft, nil, .quarantine), (nil, .partial, nil, .quarantine),
    (nil, .draft, mine, .quarantine),
    (task(isOver: false), .body, nil, .keep), (task(isOver: false), .draft, nil, .keep),
    (task(isOver: false), .partial, nil, .keep),
    // The body was pruned or moved to a file.
    (task(), .body, nil, .remove), (task(), .draft, nil, .remove), (task(), .partial, nil, .remove),
    // The body of a request is deleted with the row.
    (nil, .request, mine, .quarantine), (task(isOver: false), .request, mine, .keep),
    (spooled, .request, mine, .keep), (spooled, .request, other, .remove), (whole, .request, mine, .remove),
    (redirected, .request, mine, .keep), (redirected, .request, other, .keep),
    (redirected, .request, nil, .remove),
    (whole, .body, nil, .keep), (whole, .draft, nil, .remove),
    // A backup of the database may be older than the body.
    (failed, .body, nil, .quarantine), (failed, .draft, nil, .remove), (failed, .partial, nil, .remove),
    (resumable, .partial, nil, .keep), (resumable, .draft, nil, .remove),
    // An overtaken owner has left other blobs than those in the row.
    (whole, .body, other, .remove), (resumable, .partial, mine, .remove),
    (stamped, .body, other, .keep), (stamped, .partial, other, .keep), (stamped, .draft, other, .remove),
    (stamped, .body, mine, .remove), (stamped, .body, nil, .remove), (stamped, .partial, nil, .remove),
  ]

  @Test(arguments: cases.indices) func `orphan is kept, removed or quarantined`(_ index: Int) {
    let (task, part, stamp, verdict) = Self.cases[index]
    #expect(OrphanDisposition(BlobKey(Self.id, part, stamp), of: task) == verdict)
  }
}

@Suite struct QuarantineDirectoryTests {
  private let directory = TemporaryDirectory.make("ferry-aside")
  private static let time = Timestamp(seconds: 1_800_000_000)

  private func put(_ name: String, at time: Timestamp = time) throws -> String {
    try "x".write(toFile: directory + "/" + name, atomically: false, encoding: .utf8)
    return try #require(QuarantineDirectory(in: directory).move(name, at: time))
  }

  @Test func `file stays in quarantine for a week`() throws {
    let (aside, week) = (QuarantineDirectory(in: directory), QuarantineDirectory.retention)
    let places = [try put("a"), try put("b"), try put("c", at: Self.time.adding(seconds: 60))]
    #expect(!FileManager.default.fileExists(atPath: directory + "/a"))
    #expect(places.allSatisfy { FileManager.default.fileExists(atPath: $0) })
    #expect(aside.removeExpired(at: Self.time.adding(seconds: week)) == 0)
    // A clock that was set back makes no file expire.
    #expect(aside.removeExpired(at: Timestamp(seconds: 1)) == 0)
    #expect(aside.removeExpired(at: Self.time.adding(seconds: week + 1)) == 2)
    #expect(places.map { FileManager.default.fileExists(atPath: $0) } == [false, false, true])
    #expect(aside.removeExpired(at: Self.time.adding(seconds: week + 61)) == 1)
  }

  @Test func `missing file cannot be quarantined`() {
    #expect(QuarantineDirectory(in: directory).move("a", at: Self.time) == nil)
    #expect(QuarantineDirectory(in: directory + "/nowhere").move("a", at: Self.time) == nil)
    #expect(QuarantineDirectory(in: directory + "/nowhere").removeExpired(at: Self.time) == 0)
  }

  @Test func `other directories in the quarantine are kept`() throws {
    let other = directory + "/" + QuarantineDirectory.name + "/mine"
    try FileManager.default.createDirectory(atPath: other, withIntermediateDirectories: true)
    try "x".write(toFile: other + "/a", atomically: false, encoding: .utf8)
    #expect(QuarantineDirectory(in: directory).removeExpired(at: Self.time) == 0)
    #expect(FileManager.default.fileExists(atPath: other + "/a"))
  }
}

import BlobStore
import Foundation
import Ledger
import SQLiteLedger
import TestSupport
import Testing
import TransferEngine
import TransferModel

@testable import TransferService

/// Files without a row.
@Suite(.endsInTime) struct OrphanCollectorTests {
  private let bench: ServiceBench

  init() throws { bench = try ServiceBench() }

  private func path(_ key: BlobKey) -> String {
    "\(bench.directory)/\(key.task == nil ? "files" : "bodies")/\(key)"
  }

  /// All files that a task can have.
  private func all(_ task: TaskID, _ stamp: BlobStamp? = nil) -> [String] {
    BlobKey.Part.allCases.map { path(BlobKey(task, $0, stamp)) }
  }

  private func put(_ path: String) throws -> String {
    try "x".write(toFile: path, atomically: false, encoding: .utf8)
    return path
  }

  private func isThere(_ path: String) -> Bool { FileManager.default.fileExists(atPath: path) }

  private func aside(_ directory: String) -> [String] {
    let names = try? FileManager.default.subpathsOfDirectory(
      atPath: directory + "/" + QuarantineDirectory.name)
    return (names ?? []).filter { $0.contains("/") }.map { String($0.split(separator: "/")[1]) }.sorted()
  }

  private func sweep() async throws {
    _ = try await bench.service.recover()
    try await bench.service.catchUp()
    try await bench.service.collectOrphans()
  }

  @Test func `unknown files are quarantined, and deleted after a week`() async throws {
    let unknown: TaskID = ServiceBench.id(90)
    let file: FileID = ServiceBench.id(91)
    let found = try all(unknown).map(put)
    let stored = try put(path(BlobKey(file)))
    let (bodies, files) = (bench.directory + "/bodies", bench.directory + "/files")
    let others = try [put(bodies + "/note"), put(files + "/note")]
    try await sweep()
    #expect(!found.contains(where: isThere) && !isThere(stored) && others.allSatisfy(isThere))
    #expect(aside(bodies) == ["\(unknown)", "\(unknown).part", "\(unknown).request", "\(unknown).resume"])
    #expect(aside(files) == ["\(file)"])
    _ = try await bench.service.prune(by: Retention())
    #expect(aside(bodies).count == 4)
    bench.advance(QuarantineDirectory.retention + 1)
    _ = try await bench.service.prune(by: Retention())
    #expect(aside(bodies) == [] && aside(files) == [])
    await bench.stop()
  }

  @Test func `files of a running task stay, others of an ended task are deleted`() async throws {
    let (running, ended) = (try await bench.task(1), try await bench.task(2))
    var over = ended
    _ = over.lifecycle.complete()
    let whole = over
    try await bench.write { $0.updatedTasks = [whole] }
    let file = StoredFile(
      id: ServiceBench.id(3), tenant: Tenant(name: "t"), createdAt: ServiceBench.start, size: 1, sha256: "",
      contentType: nil, fromTask: nil)
    try await bench.write { $0.newFiles = [file] }
    let kept = try (all(running.id) + [path(BlobKey(file.id))]).map(put)
    let gone = try all(ended.id).map(put)
    try await sweep()
    #expect(kept.allSatisfy(isThere) && !gone.contains(where: isThere))
    for shelf in ["/bodies", "/files"] { #expect(aside(bench.directory + shelf) == []) }
    await bench.stop()
  }

  /// Each owner writes under its own stamp. Files that the row does not name are deleted, also those of another database.
  @Test func `files under other stamps are deleted`() async throws {
    let named = try await ended(under: BlobStamp(epoch: 1))
    let stamps = [nil, BlobStamp(attempt: 2), BlobStamp(epoch: 2), BlobStamp(epoch: 9)]
    let gone = try stamps.flatMap { all(named.id, $0) }.map(put)
    let receiving = try [1, 9].map {
      try put(path(BlobKey(.file(ServiceBench.id(5)), .draft, BlobStamp(epoch: $0))))
    }
    let unknown = try all(ServiceBench.id(90), BlobStamp(epoch: 9)).map(put)
    try await sweep()
    #expect(isThere(path(named.bodyKey)))
    #expect(!(gone + receiving + unknown).contains(where: isThere))
    #expect(aside(bench.directory + "/bodies").count == 4)
    await bench.stop()
  }

  /// An overtaken service does not know its successor's files.
  @Test func `service that lost the ledger sweeps nothing`() async throws {
    let named = try await ended(under: BlobStamp(epoch: 1))
    let others = try (all(named.id, BlobStamp(epoch: 2)) + all(ServiceBench.id(90))).map(put)
    _ = try await bench.service.recover()
    #expect(bench.store.epoch == 1)
    let successor = try bench.another()
    for ownership in [OwnershipChange.joins(address: ""), .takesOver([1])] {
      var change = LedgerChange()
      change.ownership = ownership
      try await successor.write(change)
    }
    await #expect(throws: ServiceError.self) { try await bench.service.collectOrphans() }
    #expect(others.allSatisfy(isThere))
    await successor.close()
    await bench.stop()
  }

  /// Makes a finished task with a body on disk.
  private func ended(under stamp: BlobStamp) async throws -> TransferTask {
    var over = try await bench.task(2)
    _ = over.lifecycle.complete()
    over.body = TaskBody(
      size: 1, sha256: "", expiresAt: ServiceBench.start.adding(seconds: 60), blob: stamp)
    let whole = over
    try await bench.write { $0.updatedTasks = [whole] }
    _ = try put(path(whole.bodyKey))
    return whole
  }

  /// The file's row may not be committed yet during the collection.
  @Test func `file that was received after the start is not swept`() async throws {
    _ = try await bench.service.recover()
    let path = try put(path(BlobKey(ServiceBench.id(4) as FileID)))
    try await bench.service.collectOrphans()
    #expect(isThere(path))
    await bench.stop()
  }
}

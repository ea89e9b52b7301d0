import Foundation
import TestSupport
import Testing
import TransferEngine
import TransferModel

@testable import TransferService
@testable import TransferStore

/// Files that the store does not know.
@Suite(.endsInTime) struct SweepTests {
  private let bench: ServiceBench

  init() throws { bench = try ServiceBench() }

  private func put(_ path: String) throws -> String {
    try "x".write(toFile: path, atomically: false, encoding: .utf8)
    return path
  }

  private func isThere(_ path: String) -> Bool { FileManager.default.fileExists(atPath: path) }

  private func aside(_ directory: String) -> [String] {
    let names = try? FileManager.default.subpathsOfDirectory(atPath: directory + "/" + SetAside.name)
    return (names ?? []).filter { $0.contains("/") }.map { String($0.split(separator: "/")[1]) }.sorted()
  }

  private func sweep() async throws {
    _ = try await bench.service.recover()
    try await bench.service.catchUp()
    try await bench.service.sweep()
  }

  @Test func whatNobodyKnowsIsSetAsideAndGoesAfterAWeek() async throws {
    let unknown: TaskID = ServiceBench.id(90)
    let file: FileID = ServiceBench.id(91)
    let found = try [
      bench.bodies.path(unknown), bench.bodies.temporaryPath(unknown), bench.bodies.partialPath(unknown),
    ].map(put)
    let stored = try put(bench.files.path(file))
    let others = try [put(bench.bodies.path + "/note"), put(bench.files.path + "/note")]
    try await sweep()
    #expect(!found.contains(where: isThere) && !isThere(stored) && others.allSatisfy(isThere))
    #expect(aside(bench.bodies.path) == ["\(unknown)", "\(unknown).part", "\(unknown).resume"])
    #expect(aside(bench.files.path) == ["\(file)"])
    _ = try await bench.service.prune(by: Retention())
    #expect(aside(bench.bodies.path).count == 3)
    bench.advance(SetAside.retention + 1)
    _ = try await bench.service.prune(by: Retention())
    #expect(aside(bench.bodies.path) == [] && aside(bench.files.path) == [])
    await bench.stop()
  }

  @Test func whatIsKnownStaysOrGoes() async throws {
    let (running, ended) = (try await bench.task(1), try await bench.task(2))
    var over = ended
    _ = over.lifecycle.complete()
    let whole = over
    try await bench.write { $0.updatedTasks = [whole] }
    let file = StoredFile(
      id: ServiceBench.id(3), tenant: Tenant(name: "t"), createdAt: ServiceBench.start, size: 1, sha256: "",
      contentType: nil, fromTask: nil)
    try await bench.write { $0.newFiles = [file] }
    let kept = try [
      bench.bodies.path(running.id), bench.bodies.temporaryPath(running.id),
      bench.bodies.partialPath(running.id), bench.files.path(file.id),
    ].map(put)
    let gone = try [
      bench.bodies.path(ended.id), bench.bodies.temporaryPath(ended.id), bench.bodies.partialPath(ended.id),
    ].map(put)
    try await sweep()
    #expect(kept.allSatisfy(isThere) && !gone.contains(where: isThere))
    #expect(aside(bench.bodies.path) == [] && aside(bench.files.path) == [])
    await bench.stop()
  }

  /// A file whose row is on the way while the others are looked at.
  @Test func whatComesMeanwhileIsNotLookedAt() async throws {
    _ = try await bench.service.recover()
    let path = try put(bench.files.path(ServiceBench.id(4)))
    try await bench.service.sweep()
    #expect(isThere(path))
    await bench.stop()
  }
}

import TestSupport
import Testing
import TransferCore
import TransferModel

@testable import TransferService

/// A finished task has no machine, so a patch compares and replaces its row.
@Suite(.blocking, .endsInTime) struct FinishedTaskPatchTests {
  private let origin = TestOrigin { _, socket in
    try socket.write(TestOrigin.reply("200 OK"))
    return true
  }

  private static func patch(_ description: String?, _ priority: Double? = nil) -> TaskPatch {
    var patch = TaskPatch()
    patch.description = description.map { .some($0) }
    patch.priority = priority
    return patch
  }

  @Test(arguments: [SessionType.default, .ephemeral]) func `one of several conditional patches succeeds`(
    _ type: SessionType
  ) async throws {
    let bench = try await LiveServiceBench()
    let session = try await bench.session(type)
    let task = try await bench.end(of: bench.task(origin.url, in: session).id)
    for round in 0..<10 {
      let known = round == 0 ? nil : try await bench.service.tasks.task(task.id).description
      let changed = await withTaskGroup(of: Bool.self) { group in
        for number in 0..<8 {
          group.addTask {
            let patch = Self.patch("\(round) \(number)")
            return (try? await bench.service.tasks.patch(task.id, patch) { $0.description == known }) != nil
          }
        }
        return await group.reduce(0) { $0 + ($1 ? 1 : 0) }
      }
      #expect(changed == 1)
    }
    await bench.stop()
  }

  @Test func `unconditional patches of different members are all kept`() async throws {
    let bench = try await LiveServiceBench()
    let task = try await bench.end(of: bench.task(origin.url, in: bench.session()).id)
    for round in 0..<10 {
      async let first = bench.service.tasks.patch(task.id, Self.patch("\(round)")) { _ in true }
      async let second = bench.service.tasks.patch(task.id, Self.patch(nil, Double(round) / 10)) { _ in true }
      _ = try await (first, second)
      let now = try await bench.service.tasks.task(task.id)
      #expect(now.description == "\(round)" && now.priority == Double(round) / 10)
    }
    await bench.stop()
  }
}

import HTTPFields
import Ledger
import SQLiteLedger
import Synchronization
import TestSupport
import Testing
import TransferCore
import TransferModel

@testable import TransferService

/// A large session is read from its row when its outline is not enough.
@Suite(.blocking, .endsInTime) struct OutlineTests {
  private static let long = String(repeating: "x", count: 5000)

  private static func specification() -> SessionSpecification {
    var specification = SessionSpecification()
    specification.description = long
    specification.configuration.httpAdditionalHeaders = HTTPHeaders([.init(name: "X-Session", value: "7")])
    return specification
  }

  @Test func `tasks of an outlined session use its configuration`() async throws {
    let seen = Mutex<[Bool]>([])
    let origin = TestOrigin { request, socket in
      seen.withLock { $0.append(request["X-Session"] == "7") }
      try socket.write(TestOrigin.reply("200 OK"))
      return true
    }
    let bench = try await LiveServiceBench()
    let (runtime, sessions) = (bench.service.runtime, bench.service.sessions)
    let created = try await sessions.create(Self.specification(), of: .default).session
    let id = created.id
    #expect(runtime.session(id)?.isOutline == true)
    #expect(try await sessions.withConfiguration(#require(runtime.session(id))) == created)
    // One task runs at once, the other waits first.
    let first = try await bench.task(origin.url, in: id)
    _ = try await bench.end(of: first.id)
    var specification = LiveServiceBench.specification(origin.url)
    specification.resume = false
    let second = try await bench.service.tasks.create(
      [specification], in: bench.service.sessions.session(id))[0]
    try await bench.service.runtime.recorder.flush()
    while runtime.session(id)?.isOutline != true { await Task.yield() }
    #expect(runtime.read(at: id) { $0.tasks.isEvicted(second.id) } == true)
    _ = try await bench.service.tasks.resume(second.id)
    _ = try await bench.end(of: second.id)
    #expect(seen.withLock { $0 } == [true, true])
    // The last row has the whole session.
    let invalid = try await sessions.invalidate(id, .finishTasks)
    #expect(invalid.state == .invalid && invalid.description == Self.long)
    #expect(try await bench.store.session(id) == invalid)
    await bench.stop()
  }

  @Test func repeatedCreationComparesTheWholeSession() async throws {
    let bench = try await LiveServiceBench()
    let sessions = bench.service.sessions
    var specification = Self.specification()
    (specification.type, specification.identifier) = (.background, "a")
    let created = try await sessions.create(specification, of: .default).session
    #expect(bench.service.runtime.session(created.id)?.isOutline == true)
    let found = try await sessions.create(specification, of: .default)
    #expect(found.session == created && !found.isNew)
    specification.description = "another"
    var refusal: ServiceError?
    do throws(ServiceError) {
      _ = try await sessions.create(specification, of: .default)
    } catch {
      refusal = error
    }
    guard case .identifierInUse(let differences) = refusal else {
      Issue.record("\(String(describing: refusal))")
      return
    }
    #expect(differences == ["description"])
    await bench.stop()
  }
}

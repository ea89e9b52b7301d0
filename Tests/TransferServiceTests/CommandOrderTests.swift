import HTTPCookies
import Ledger
import Records
import SQLiteLedger
import Synchronization
import TestSupport
import Testing
import TransferModel

@testable import TransferService

/// A client's request about a background session returns after the commit of its command.
@Suite(.blocking, .endsInTime) struct CommandOrderTests {
  private let isAsked = Gate()
  private let isInVerb = Gate()
  private let isDone = Gate()

  /// One thread sets cookies while another suspends a task under the lock of the session's machine.
  @Test func `cookies of one request do not land in another commit`() async throws {
    let (isAsked, isInVerb, isDone) = (isAsked, isInVerb, isDone)
    let armed = Armed()
    var moments = ObservedLedger.Moments()
    moments.asked = {
      guard armed.cookies.exchange(false, ordering: .relaxed) else { return }
      isAsked.open()
      _ = isInVerb.wait() || isInVerb.wait()
    }
    let bench = try await LiveServiceBench(moments) {
      if armed.verb.exchange(false, ordering: .relaxed) {
        isInVerb.open()
        _ = isDone.wait() || isDone.wait()
      }
      return WorkerSamples.time
    }
    let session = try await bench.session(.background)
    let task = try await bench.task("http://127.0.0.1:1/", in: session, kind: .download)
    try await bench.service.runtime.recorder.flush()
    let before = try await commands(bench)
    armed.cookies.store(true, ordering: .relaxed)
    async let cookies = bench.service.cookies.set([WorkerSamples.cookie], of: session)
    #expect(isAsked.wait() || isAsked.wait())
    armed.verb.store(true, ordering: .relaxed)
    async let suspended = bench.service.tasks.suspend(task.id)
    _ = try await cookies
    // The suspension is not committed yet.
    #expect(try await commands(bench) == before + ["setCookies"])
    isDone.open()
    _ = try await suspended
    #expect(try await commands(bench) == before + ["setCookies", "suspend"])
    await bench.stop()
  }

  @Test func `credential changes are committed with their commands`() async throws {
    let bench = try await LiveServiceBench()
    let session = try await bench.session(.background)
    try await bench.service.credentials.set(WorkerSamples.password, for: WorkerSamples.space, in: session)
    #expect(try await commands(bench) == ["keepCredential"])
    try await bench.service.credentials.remove(of: session) { _ in true }
    #expect(try await commands(bench) == ["keepCredential", "forgetCredentials"])
    _ = try await bench.service.reset(session)
    #expect(try await commands(bench).last == "reset")
    _ = try await bench.service.sessions.flush(session)
    #expect(try await commands(bench).last == "flush")
    await bench.stop()
  }

  /// A cancellation is committed together with the task's new state, so that no crash separates them.
  @Test func `task commands are committed with the new state of the task`() async throws {
    let bench = try await LiveServiceBench()
    let session = try await bench.session(.background)
    let task = try await bench.task("http://127.0.0.1:1/", in: session, kind: .download)
    let tasks = bench.service.tasks
    _ = try await tasks.suspend(task.id)
    #expect(try await commands(bench).last == "suspend")
    _ = try await tasks.resume(task.id)
    #expect(try await commands(bench).last == "resume")
    _ = try await tasks.cancel(task.id)
    #expect(try await commands(bench).last == "cancel")
    await bench.stop()
  }

  private func commands(_ bench: LiveServiceBench) async throws -> [String] {
    try await bench.store.commands(after: 0, limit: 99).map {
      WorkerSamples.name(try QueueDocumentCoding.decode(BackgroundCommand.self, $0.content.document))
    }
  }

  private final class Armed: Sendable {
    let cookies = Atomic(false)
    let verb = Atomic(false)
  }
}

import TestSupport
import Testing
import TransferModel

@testable import TransferService

/// Endpoints whose attempts fail for days.
@Suite(.blocking) struct EndpointFailureTests {
  private static let day = 86_400.0
  private let bench: ServiceBench

  init() throws { bench = try ServiceBench() }

  private func make() async throws -> EndpointID {
    _ = try await bench.service.recover()
    return try await bench.service.view(of: .default).createEndpoint(
      WebhookEndpoint.Settings(url: "http://192.0.2.1/"), secret: nil
    ) { _ in nil }.id
  }

  private func fail(_ id: EndpointID, after seconds: Double) {
    bench.service.noteAttempt(
      to: id, succeeded: false, isGone: false, at: ServiceBench.start.adding(seconds: seconds))
  }

  private func succeed(_ id: EndpointID, after seconds: Double) {
    bench.service.noteAttempt(
      to: id, succeeded: true, isGone: false, at: ServiceBench.start.adding(seconds: seconds))
  }

  /// Returns the endpoint after all changes.
  private func endpoint(_ id: EndpointID) async -> WebhookEndpoint? {
    await bench.finishBackgroundWork()
    return bench.service.endpoints.registry.endpoint(id)
  }

  @Test func `failures of five days disable an endpoint`() async throws {
    let id = try await make()
    fail(id, after: 0)
    fail(id, after: 61)
    #expect(await endpoint(id)?.failingSince == ServiceBench.start)
    fail(id, after: 5 * Self.day - 1)
    #expect(await endpoint(id)?.isEnabled == true)
    fail(id, after: 5 * Self.day)
    let disabled = await endpoint(id)
    #expect(disabled?.disabledReason == "all attempts have failed for five days")
    // An endpoint that a client enables begins anew.
    _ = try await bench.service.view(of: .default).changeEndpoint(id) { known in
      var changed = known
      (changed.disabledReason, changed.failingSince) = (nil, nil)
      return changed
    }
    fail(id, after: 5 * Self.day + 10)
    fail(id, after: 5 * Self.day + 71)
    let start = ServiceBench.start.adding(seconds: 5 * Self.day + 10)
    let again = await endpoint(id)
    #expect(again?.failingSince == start && again?.isEnabled == true)
    await bench.stop()
  }

  /// Another service may have had success in between.
  @Test func `two failures with days between them do not disable an endpoint`() async throws {
    let id = try await make()
    fail(id, after: 0)
    fail(id, after: 6 * Self.day)
    let since = ServiceBench.start.adding(seconds: 5 * Self.day)
    let failing = await endpoint(id)
    #expect(failing?.failingSince == since && failing?.isEnabled == true)
    succeed(id, after: 6 * Self.day + 1)
    let healthy = await endpoint(id)
    #expect(healthy?.failingSince == nil && healthy?.isEnabled == true)
    await bench.stop()
  }

  @Test func `gone endpoint is disabled at once`() async throws {
    let id = try await make()
    bench.service.noteAttempt(to: id, succeeded: false, isGone: true, at: ServiceBench.start)
    #expect(await endpoint(id)?.disabledReason == "the endpoint replied 410 Gone")
    await bench.stop()
  }
}

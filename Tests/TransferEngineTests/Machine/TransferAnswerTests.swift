import Curl
import EngineAPI
import HTTPCache
import HTTPFields
import Testing
import TransferModel

@testable import TransferEngine

/// The outcomes of the delegate's answers, and of the end of a request.
@Suite struct TransferAnswerTests {
  private final class Body: BodyToken { func cancel() {} }

  private static let proposed = TransferRequest(url: "http://a.test/y")
  private static let other = TransferRequest(url: "http://b.test/")

  private static func machine(_ hold: TransferState.WaitReason? = nil) -> TransferMachine {
    var machine = TransferMachine(job)
    machine.lifecycle.enterWire()
    if let hold { machine.lifecycle.pause(for: hold) }
    return machine
  }

  private static let job = TransferJob(
    task: TaskID(high: 1, low: 1), session: .shared, configuration: .init(), kind: .data,
    request: TransferRequest(url: "http://a.test/x"), priority: 0.5)

  private static func asked() throws -> TransferMachine.Request {
    TransferMachine.Request(
      request: job.request, url: try CurlURL(job.request.url), proxy: nil,
      sharedConfiguration: job.sharedConfiguration,
      asksForRedirects: true)
  }

  private static func text(_ nextStep: TransferMachine.AnswerAction) -> String {
    switch nextStep {
    case .follow(let request): "follow \(request.url)"
    case .accept: "accept"
    case .challenge(let answer, let side): "challenge \(side) \(answer)"
    case .handshake(let answer): "handshake \(answer)"
    case .allow(let task): task == nil ? "allow" : "become a download"
    case .store(let policy, let headers): "store \(policy) \(headers == nil ? "as it is" : "changed")"
    case .send(_, let behindHandshake): "send \(behindHandshake)"
    case .fail: "fail"
    case .drop: "drop"
    }
  }

  /// - Parameter goesOn: Whether the answer ends the wait. Otherwise the next step is known later.
  @Test(
    arguments: [
      (.redirect(proposed: proposed), .redirect(other), "follow http://b.test/", true),
      (.redirect(proposed: proposed), .redirect(nil), "accept", true),
      (.redirect(proposed: proposed), .byDefault, "follow http://a.test/y", true),
      (.redirect(proposed: proposed), .allow, "drop", false),
      (.challenge(.proxy), .challenge(.useNoCredential), "challenge proxy useNoCredential", false),
      (.challenge(.server), .byDefault, "challenge server performDefaultHandling", false),
      (.handshake, .challenge(.trust), "handshake trust", false),
      (.handshake, .byDefault, "handshake performDefaultHandling", false),
      (.response, .allow, "allow", true), (.response, .byDefault, "allow", true),
      (.response, .becomeDownload(TaskID(high: 2, low: 2)), "become a download", true),
      (.response, .challenge(.trust), "drop", false),
      (.caching, .caching(.notAllowed, headers: HTTPHeaders()), "store notAllowed changed", true),
      (.caching, .byDefault, "store allowed as it is", true),
      (.bodyStream(behindHandshake: true), .bodyStream(BodyReference(Body())), "send true", false),
      (.bodyStream(behindHandshake: false), .bodyStream(BodyReference(Body())), "send false", true),
      (.bodyStream(behindHandshake: false), .byDefault, "fail", false),
      (.cache, .byDefault, "drop", false), (.connectivity, .allow, "drop", false),
      (.files, .byDefault, "drop", false), (.token(.server), .byDefault, "drop", false),
    ] as [(TransferState.WaitReason, TransferAnswer, String, Bool)])
  private func `answer to a decision leads to its outcome`(
    _ hold: TransferState.WaitReason, _ answer: TransferAnswer, _ expected: String, _ goesOn: Bool
  ) throws {
    var machine = Self.machine(hold)
    let number = machine.ask()
    let before = machine.lifecycle
    let early = machine.answerAction(answer, to: number - 1, about: try Self.asked())
    #expect(Self.text(early) == "drop" && machine.lifecycle == before)
    let nextStep = machine.answerAction(answer, to: number, about: try Self.asked())
    #expect(Self.text(nextStep) == expected)
    #expect((machine.lifecycle.waitReason == nil) == goesOn)
    if goesOn {
      #expect(machine.lifecycle.flow.receive == [])
      let again = machine.answerAction(answer, to: number, about: try Self.asked())
      #expect(Self.text(again) == "drop")
    } else {
      #expect(machine.lifecycle == before)
    }
    if case .follow(let request) = nextStep { #expect(machine.lifecycle.next == request) }
  }

  /// The next decision has a number of its own, even if decisions were requested before the task resumed.
  @Test func `decision numbers continue those of the job`() {
    var job = Self.job
    job.decisionCount = 6
    var machine = TransferMachine(job)
    let numbers = [machine.ask(), machine.ask()]
    #expect(numbers == [7, 8])
  }

  @Test(
    arguments: [
      (.end, true, nil, .askForBody), (.end, false, nil, .goOn), (.trust, false, nil, .ask(.serverTrust)),
      (.certificate, true, nil, .ask(.clientCertificate)), (.trust, false, .response, .goOn),
    ] as [(TLSHandshake.PausePoint, Bool, TransferState.WaitReason?, TransferMachine.HandshakeAction)])
  private func `handshake continues, is refused or needs a decision`(
    _ question: TLSHandshake.PausePoint, _ lacksBody: Bool, _ hold: TransferState.WaitReason?,
    _ expected: TransferMachine.HandshakeAction
  ) {
    func nextStep(
      _ machine: TransferMachine, isPastConnect: Bool = false, isForNobody: Bool = false,
      isTrusted: Bool = false
    ) -> TransferMachine.HandshakeAction {
      machine.handshakeAction(
        question, isPastConnect: isPastConnect, isForNobody: isForNobody, lacksBody: lacksBody,
        isTrusted: isTrusted)
    }
    let machine = Self.machine(hold)
    #expect(nextStep(machine) == expected)
    #expect(nextStep(machine, isPastConnect: true) == .goOn && nextStep(machine, isForNobody: true) == .goOn)
    #expect(nextStep(TransferMachine(Self.job)) == .refuse)
    let trusted = nextStep(machine, isTrusted: true)
    #expect(trusted == (expected == .ask(.serverTrust) ? .trust : expected))
  }

  /// A request with an open decision keeps its error until the decision is answered.
  @Test func `request ends before the answer`() {
    let error = TransferError(.networkConnectionLost, "gone")
    var machine = Self.machine(.response)
    let held = machine.wireEnded(
      error, status: 200, hasResponse: true, lacksNetwork: false, at: CacheSamples.start)
    #expect(held == .leaveQueue && machine.lifecycle.state.isParked && !machine.wantsBody)
    machine.lifecycle.decisionReceived()
    #expect(machine.lifecycle.step(hasDelivery: false) == .settle(error))
    machine = Self.machine()
    let ends = machine.wireEnded(
      nil, status: 200, hasResponse: true, lacksNetwork: false, at: CacheSamples.start)
    #expect(ends == .settle(nil) && machine.lifecycle.state.isOnWire && machine.lifecycle.wireEnd == nil)
  }

  /// The order: next request, network wait, cache, pending decision.
  @Test(arguments: [nil, .response] as [TransferState.WaitReason?])
  private func `end of a request leads to the next step in order`(_ hold: TransferState.WaitReason?) {
    func next(_ machine: TransferMachine, lacksNetwork: Bool) -> TransferAction {
      var machine = machine
      return machine.wireEnded(
        nil, status: 206, hasResponse: false, lacksNetwork: lacksNetwork, at: CacheSamples.at(1))
    }
    var machine = Self.machine(hold)
    #expect(next(machine, lacksNetwork: false) == (hold == nil ? .settle(nil) : .leaveQueue))
    machine.cache = CacheTransaction(CacheSamples.request())
    machine.cache?.candidate = CacheSamples.part
    machine.cache?.completesCandidate = true
    #expect(next(machine, lacksNetwork: false) == .join(CacheSamples.part, error: nil))
    machine.cache?.answer = CacheSamples.fresh
    #expect(next(machine, lacksNetwork: false) == .serveInstead(CacheSamples.fresh))
    #expect(next(machine, lacksNetwork: true) == .waitForNetwork)
    machine.lifecycle.send(Self.other)
    #expect(next(machine, lacksNetwork: true) == .sendNext(Self.other))
  }

  /// Bytes are not needed after another request, a failure or a stored response was chosen.
  @Test func `body is needed only for the response of the task`() {
    var machine = Self.machine()
    #expect(machine.wantsBody && machine.cut == .wait)
    machine.lifecycle.send(Self.other)
    #expect(!machine.wantsBody && machine.cut == .sendNext(Self.other))
    machine = Self.machine()
    machine.cache = CacheTransaction(CacheSamples.request())
    #expect(machine.wantsBody)
    machine.cache?.answer = CacheSamples.fresh
    #expect(!machine.wantsBody && machine.cut == .serveInstead(CacheSamples.fresh))
  }

  @Test func `stored response answers after a timeout`() {
    func answer(_ machine: TransferMachine, hasResponse: Bool = false) -> CachedResponse? {
      machine.answerOnTimeout(hasResponse: hasResponse, at: CacheSamples.at(30))
    }
    var machine = Self.machine()
    #expect(answer(machine) == nil)
    machine.cache = CacheTransaction(CacheSamples.request())
    machine.cache?.candidate = CacheSamples.staleIfError
    #expect(answer(machine) == CacheSamples.staleIfError && answer(machine, hasResponse: true) == nil)
    machine.cache?.candidate = CacheSamples.stale
    #expect(answer(machine) == nil)
    machine.cache?.answer = CacheSamples.stale
    #expect(answer(machine) == CacheSamples.stale)
    machine.lifecycle.send(Self.other)
    #expect(answer(machine) == nil)
  }
}

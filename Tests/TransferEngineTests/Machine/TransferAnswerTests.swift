import Curl
import EngineAPI
import HTTPCache
import HTTPFields
import Testing
import TransferModel

@testable import TransferEngine

/// What the delegate's answers lead to, and what follows the end of the wire.
@Suite struct TransferAnswerTests {
  private final class Body: BodyToken { func detach() {} }

  private static let proposed = TransferRequest(url: "http://a.test/y")
  private static let other = TransferRequest(url: "http://b.test/")

  private static func machine(_ hold: TransferState.WaitReason? = nil) -> TransferMachine {
    var machine = TransferMachine(job)
    machine.course.goOnWire()
    if let hold { machine.course.pause(for: hold) }
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

  private static func text(_ verdict: TransferMachine.AnswerVerdict) -> String {
    switch verdict {
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

  /// - Parameter goesOn: nothing is waited for any more; else it is clear only later what follows.
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
  private func answers(
    _ hold: TransferState.WaitReason, _ answer: TransferAnswer, _ expected: String, _ goesOn: Bool
  ) throws {
    var machine = Self.machine(hold)
    let number = machine.ask()
    let before = machine.course
    let early = machine.take(answer, to: number - 1, about: try Self.asked())
    #expect(Self.text(early) == "drop" && machine.course == before)
    let verdict = machine.take(answer, to: number, about: try Self.asked())
    #expect(Self.text(verdict) == expected)
    #expect((machine.course.hold == nil) == goesOn)
    if goesOn {
      #expect(machine.course.flow.receive == [])
      let again = machine.take(answer, to: number, about: try Self.asked())
      #expect(Self.text(again) == "drop")
    } else {
      #expect(machine.course == before)
    }
    if case .follow(let request) = verdict { #expect(machine.course.next == request) }
  }

  /// The next question has a number of its own, also where a task goes on that was asked about before.
  @Test func questionsAreCountedOn() {
    var job = Self.job
    job.questions = 6
    var machine = TransferMachine(job)
    let numbers = [machine.ask(), machine.ask()]
    #expect(numbers == [7, 8])
  }

  @Test(
    arguments: [
      (.end, true, nil, .askForBody), (.end, false, nil, .goOn), (.trust, false, nil, .ask(.serverTrust)),
      (.certificate, true, nil, .ask(.clientCertificate)), (.trust, false, .response, .goOn),
    ] as [(TLSHandshake.Question, Bool, TransferState.WaitReason?, TransferMachine.HandshakeVerdict)])
  private func handshakes(
    _ question: TLSHandshake.Question, _ lacksBody: Bool, _ hold: TransferState.WaitReason?,
    _ expected: TransferMachine.HandshakeVerdict
  ) {
    func verdict(
      _ machine: TransferMachine, isPastConnect: Bool = false, isForNobody: Bool = false,
      isTrusted: Bool = false
    ) -> TransferMachine.HandshakeVerdict {
      machine.meet(
        question, isPastConnect: isPastConnect, isForNobody: isForNobody, lacksBody: lacksBody,
        isTrusted: isTrusted)
    }
    let machine = Self.machine(hold)
    #expect(verdict(machine) == expected)
    #expect(verdict(machine, isPastConnect: true) == .goOn && verdict(machine, isForNobody: true) == .goOn)
    #expect(verdict(TransferMachine(Self.job)) == .refuse)
    let trusted = verdict(machine, isTrusted: true)
    #expect(trusted == (expected == .ask(.serverTrust) ? .trust : expected))
  }

  /// A request whose answer is asked about keeps how it ended until it is clear what follows.
  @Test func theWireEndsBeforeTheAnswer() {
    let error = TransferError(.networkConnectionLost, "gone")
    var machine = Self.machine(.response)
    let held = machine.wireEnded(
      error, status: 200, hasResponse: true, lacksNetwork: false, at: CacheSamples.start)
    #expect(held == .leaveQueue && machine.course.state.isParked && !machine.wantsBody)
    machine.course.decided()
    #expect(machine.course.step(hasDelivery: false) == .settle(error))
    machine = Self.machine()
    let ends = machine.wireEnded(
      nil, status: 200, hasResponse: true, lacksNetwork: false, at: CacheSamples.start)
    #expect(ends == .settle(nil) && machine.course.state.isOnWire && machine.course.wireEnd == nil)
  }

  /// Order: next request, network wait, cache, pending decision.
  @Test(arguments: [nil, .response] as [TransferState.WaitReason?])
  private func endOfTheWire(_ hold: TransferState.WaitReason?) {
    func next(_ machine: TransferMachine, lacksNetwork: Bool) -> TransferAction {
      var machine = machine
      return machine.wireEnded(
        nil, status: 206, hasResponse: false, lacksNetwork: lacksNetwork, at: CacheSamples.at(1))
    }
    var machine = Self.machine(hold)
    #expect(next(machine, lacksNetwork: false) == (hold == nil ? .settle(nil) : .leaveQueue))
    machine.cache = CacheUse(CacheSamples.request())
    machine.cache?.candidate = CacheSamples.part
    machine.cache?.completesCandidate = true
    #expect(next(machine, lacksNetwork: false) == .join(CacheSamples.part, error: nil))
    machine.cache?.answer = CacheSamples.fresh
    #expect(next(machine, lacksNetwork: false) == .serveInstead(CacheSamples.fresh))
    #expect(next(machine, lacksNetwork: true) == .waitForNetwork)
    machine.course.send(Self.other)
    #expect(next(machine, lacksNetwork: true) == .sendNext(Self.other))
  }

  /// Bytes are of no use to anybody once it is clear that another request goes out, that it fails, or that something stored answers.
  @Test func bytesAreWantedByTheirTaskAlone() {
    var machine = Self.machine()
    #expect(machine.wantsBody && machine.cut == .wait)
    machine.course.send(Self.other)
    #expect(!machine.wantsBody && machine.cut == .sendNext(Self.other))
    machine = Self.machine()
    machine.cache = CacheUse(CacheSamples.request())
    #expect(machine.wantsBody)
    machine.cache?.answer = CacheSamples.fresh
    #expect(!machine.wantsBody && machine.cut == .serveInstead(CacheSamples.fresh))
  }

  @Test func whatIsStoredAnswersInTime() {
    func answer(_ machine: TransferMachine, hasResponse: Bool = false) -> CachedResponse? {
      machine.answerOnTimeout(hasResponse: hasResponse, at: CacheSamples.at(30))
    }
    var machine = Self.machine()
    #expect(answer(machine) == nil)
    machine.cache = CacheUse(CacheSamples.request())
    machine.cache?.candidate = CacheSamples.staleIfError
    #expect(answer(machine) == CacheSamples.staleIfError && answer(machine, hasResponse: true) == nil)
    machine.cache?.candidate = CacheSamples.stale
    #expect(answer(machine) == nil)
    machine.cache?.answer = CacheSamples.stale
    #expect(answer(machine) == CacheSamples.stale)
    machine.course.send(Self.other)
    #expect(answer(machine) == nil)
  }
}

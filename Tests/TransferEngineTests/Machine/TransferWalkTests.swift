import Curl
import EngineAPI
import TestSupport
import Testing
import TransferModel

@testable import TransferEngine

/// One transfer with an origin, a delegate and clients that act at random. The walk carries out the machine's actions like the transfer
/// loop.
private struct Walk {
  private var generator: SplitMix64
  private(set) var machine = TransferMachine(Walk.job)
  private(set) var isQueued = false
  private(set) var ends = 0
  /// The number of sent requests.
  private(set) var sent = 0
  /// The number of requests that the machine decided to send.
  private var decided = 1
  /// Whether the origin has stopped redirecting and the delegate agrees to everything.
  private var isCalm = false

  private static let job = TransferJob(
    task: TaskID(high: 1, low: 1), session: .shared, configuration: .init(), kind: .data,
    request: TransferRequest(url: "http://a.test/x"), priority: 0.5)
  private static let other = TransferRequest(url: "http://a.test/y")
  private static let asked = try? CurlURL(job.request.url)

  init(seed: UInt64) throws {
    generator = SplitMix64(seed: seed)
    enqueue()
  }

  private mutating func chance(_ part: Int) -> Bool { Int.random(in: 0..<part, using: &generator) == 0 }

  // MARK: The transfer loop

  private mutating func enqueue() { isQueued = machine.lifecycle.queue() || isQueued }

  private mutating func proceed() {
    perform(machine.lifecycle.step(hasDelivery: false))
  }

  private mutating func perform(_ action: TransferAction?) {
    switch action {
    case .proceed: proceed()
    case .sendNext(let next, _): sendNext(next)
    case .send: goOut([])
    case .leaveQueue: isQueued = false
    case .settle: settle()
    case .finish: finish()
    case .queue: enqueue()
    default: break
    }
  }

  private mutating func sendNext(_ next: TransferRequest) {
    machine.prepare(next, leavesOrigin: false)
    machine.lifecycle.park()
    isQueued = false
    decided += 1
    enqueue()
  }

  private mutating func settle() {
    if !isCalm, machine.lifecycle.wireEnd == nil, chance(4) {
      machine.lifecycle.endWire(nil)
      machine.lifecycle.wait(for: .caching)
      isQueued = false
      _ = machine.ask()
    } else {
      finish()
    }
  }

  private mutating func finish() {
    machine.lifecycle.finish()
    isQueued = false
    ends += 1
  }

  /// Enters the wire, or waits for a file, token or cache first.
  private mutating func goOut(_ needs: [TransferState.WaitReason]) {
    if let need = needs.first(where: { _ in !isCalm && chance(3) }) {
      machine.lifecycle.wait(for: need)
    } else {
      machine.lifecycle.enterWire()
      sent += 1
    }
  }

  // MARK: Events

  mutating func step() throws {
    switch Int.random(in: 0..<10, using: &generator) {
    case 0: perform(machine.lifecycle.suspend())
    case 1: perform(machine.lifecycle.resume())
    case 2 where chance(20): cancel()
    case 3, 4: try answer()
    default: happen()
    }
  }

  private mutating func cancel() {
    let ending = TransferLifecycle.Ending(error: TransferError(.cancelled, ""), keepsPartial: true)
    guard machine.lifecycle.abort(ending) == .now else { return }
    if machine.lifecycle.state.isOnWire {
      machine.lifecycle.discardRest()
      _ = machine.lifecycle.endHandshake()
      machine.lifecycle.park()
    }
    finish()
  }

  private mutating func answer() throws {
    let answers: [TransferAnswer] = [
      .redirect(Self.other), .redirect(nil), .challenge(.useNoCredential), .allow,
      .caching(.allowed, headers: nil), .byDefault,
    ]
    let number = isCalm || chance(2) ? machine.decisionCount : Int.random(in: 0...9, using: &generator)
    let asked = TransferMachine.Request(
      request: Self.job.request, url: try #require(Self.asked), proxy: nil,
      sharedConfiguration: Self.job.sharedConfiguration, asksForRedirects: true)
    let answer = isCalm ? .byDefault : answers.randomElement(using: &generator) ?? .allow
    switch machine.answerAction(answer, to: number, about: asked) {
    case .challenge:
      // No credential is sent: the received response is the task's.
      machine.lifecycle.decisionReceived()
      perform(machine.lifecycle.move)
    case .handshake: _ = machine.lifecycle.endHandshake()
    case .fail: cancel()
    case .follow, .accept, .allow, .store: perform(machine.lifecycle.move)
    case .send, .drop: break
    }
  }

  private mutating func happen() {
    switch machine.lifecycle.state {
    case .finishing: break
    case .queued: goOut([.files, .token(.server), .cache])
    case .offWire:
      if machine.lifecycle.stopWaiting(for: .files) {
        perform(machine.lifecycle.endOnceOpened ?? machine.lifecycle.sendWhenReady())
      } else if machine.lifecycle.stopWaiting(for: .token(.server)) {
        perform(machine.lifecycle.sendWhenReady())
      } else if machine.lifecycle.stopWaiting(for: .connectivity)
        || machine.lifecycle.stopWaiting(for: .cache)
      {
        isQueued = false
        proceed()
      }
    case .onWire: onWire()
    }
  }

  private mutating func onWire() {
    guard machine.lifecycle.waitReason == nil, !isCalm, !machine.lifecycle.flow.isSuspended, !chance(3) else {
      // A held response may end, but a held handshake makes no progress.
      guard machine.lifecycle.waitReason?.isInHandshake != true else { return }
      return wireEnds()
    }
    guard machine.wantsBody else {
      if !machine.lifecycle.discard(32 * 1024) { wireEnds() }
      return
    }
    let holds: [TransferState.WaitReason] = [
      .redirect(proposed: Self.other), .response, .challenge(.server), .handshake,
    ]
    if chance(2), let hold = holds.randomElement(using: &generator) {
      machine.lifecycle.pause(for: hold)
      _ = machine.ask()
    } else if chance(3) {
      machine.lifecycle.send(Self.other)
    } else if chance(5) {
      machine.lifecycle.endWire(TransferError(.cannotParseResponse, ""))
    }
  }

  private mutating func wireEnds() {
    let error = chance(4) ? TransferError(.networkConnectionLost, "") : nil
    // A transfer with an open decision has had a network.
    let mayLackNetwork = error != nil && machine.lifecycle.waitReason == nil && !isCalm
    let nextStep = machine.wireEnded(
      error, status: 200, hasResponse: true, lacksNetwork: mayLackNetwork && chance(2),
      at: Timestamp(microseconds: 0))
    switch nextStep {
    case .waitForNetwork:
      machine.lifecycle.discardResponse()
      machine.lifecycle.wait(for: .connectivity)
      (isQueued, decided) = (false, decided + 1)
    case .settle:
      machine.lifecycle.park()
      settle()
    default: perform(nextStep)
    }
  }

  // MARK: Invariants

  func check() throws {
    let course = machine.lifecycle
    if course.state == .queued {
      try #require(isQueued && course.waitReason == nil && !course.flow.isSuspended && course.next == nil)
    }
    if course.waitReason?.isInHandshake == true { try #require(course.state.isOnWire) }
    if course.flow.receive.contains(.decision) {
      try #require(course.waitReason != nil || course.state == .finishing)
    }
    try #require((course.state == .finishing) == (ends == 1) && ends <= 1)
    if ends == 1 { try #require(!isQueued && course.waitReason == nil) }
    // Each sent request was decided, and none is sent twice.
    try #require(sent <= decided)
  }

  /// Lets origin, delegate and clients cooperate from now on.
  mutating func calmDown() throws {
    isCalm = true
    for _ in 0..<20 where ends == 0 {
      perform(machine.lifecycle.resume())
      happen()
      try answer()
      try check()
    }
  }
}

@Suite struct TransferWalkTests {
  /// For all orders of events: a transfer ends once, and ends soon after all parties cooperate.
  @Test(arguments: 1...200 as ClosedRange<UInt64>) func `every transfer ends once`(_ seed: UInt64) throws {
    var walk = try Walk(seed: seed)
    for _ in 0..<Int(seed) {
      try walk.step()
      try walk.check()
    }
    try walk.calmDown()
    #expect(walk.ends == 1)
  }
}
